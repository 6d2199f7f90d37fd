package job_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile/job"
)

// A pod that does not start, or that fails, is reported with its own words.
func TestPodsThatDoNotWork(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change      func(c *job.Config)
		enforce     string // the namespace's Pod Security level
		want        string
		advice      string
		unreachable bool
		rejected    bool
		stays       bool // the Job, which has ended
	}{
		"image": {change: annotate("hollow.pharos.dev/waiting", "ImagePullBackOff", "hollow.pharos.dev/message", "no such image"),
			want: "ImagePullBackOff: no such image", advice: "pull BuildKit's image", unreachable: true},
		"container": {change: annotate("hollow.pharos.dev/waiting", "CreateContainerConfigError", "hollow.pharos.dev/message", `secret "x" not found`),
			want: `secret "x" not found`, unreachable: true},
		"build": {change: annotate("hollow.pharos.dev/exit-code", "1", "hollow.pharos.dev/message", "error: failed to solve: no"),
			want: "failed to solve: no", rejected: true},
		"no node": {change: func(c *job.Config) {
			c.NodeSelector, c.StartWithin, c.PodAnnotations = map[string]string{"no": "such-node"}, time.Second, nil
		}, want: "didn't match Pod's node affinity/selector", advice: "Mend what it waits for", unreachable: true},
		"deadline":       {change: func(c *job.Config) { c.Deadline = time.Second }, want: "DeadlineExceeded", advice: "more time for a build", stays: true},
		"waits too long": {change: func(c *job.Config) { c.StartWithin = time.Second }, want: "ContainerCreating", unreachable: true},
		"not admitted":   {change: func(*job.Config) {}, enforce: "baseline", want: `violates PodSecurity "baseline:latest"`, advice: "pod-security.kubernetes.io/enforce=privileged", unreachable: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if tc.enforce != "" {
				ns, err := b.client.CoreV1().Namespaces().Get(t.Context(), b.namespace, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				ns.Labels["pod-security.kubernetes.io/enforce"] = tc.enforce
				if _, err := b.client.CoreV1().Namespaces().Update(t.Context(), ns, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			c := b.config()
			tc.change(&c)
			_, err := b.backend(c).Solve(t.Context(), solveOf("web"))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want %q", err, tc.want)
			}
			var solve *dockerfile.SolveError
			if errors.As(err, &solve) != tc.rejected {
				t.Errorf("BuildKit's word: %v", !tc.rejected)
			}
			var failed *lifecycle.Error
			if !tc.rejected && (!errors.As(err, &failed) || !strings.Contains(failed.Advice, tc.advice)) {
				t.Errorf("error %v", err)
			}
			if !tc.rejected && !strings.HasPrefix(err.Error(), "build image web in Job "+b.namespace+"/pharos-build-web-") {
				t.Errorf("the error does not begin with the image: %v", err)
			}
			if errors.Is(err, lifecycle.ErrUnreachable) != tc.unreachable {
				t.Errorf("unreachable: %v", !tc.unreachable)
			}
			if left := len(b.remaining()); left != 0 && !tc.rejected && !tc.stays {
				t.Error("the Job would go on waiting")
			}
		})
	}
}

// What is said of a Secret that is not there is said again and again, for nothing.
func TestSecretsThatAreMissing(t *testing.T) {
	t.Parallel()
	for message, advice := range map[string]string{
		`MountVolume.SetUp failed for volume "secrets" : secret "build" not found`:                      "Create the Secret build in namespace ",
		`MountVolume.SetUp failed for volume "secrets" : references non-existent secret key: npm.token`: "Add the key npm.token to the Secret in namespace ",
	} {
		b := newBench(t)
		c := b.config()
		c.StartWithin = time.Hour
		done := b.start(t.Context(), b.backend(c), solveOf("web"))
		p := b.pod(b.job(t.Context()))
		if _, err := b.client.CoreV1().Events(b.namespace).Create(t.Context(), &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "mount-"}, Type: corev1.EventTypeWarning, Reason: "FailedMount", Message: message,
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		got := <-done
		if !errors.Is(got.err, lifecycle.ErrUnreachable) || !strings.Contains(got.err.Error(), message) || !strings.Contains(got.err.Error(), advice) {
			t.Errorf("got %v", got.err)
		}
		if len(b.remaining()) > 0 {
			t.Error("the Job would go on waiting")
		}
	}
}

func annotate(pairs ...string) func(*job.Config) {
	return func(c *job.Config) {
		c.PodAnnotations = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			c.PodAnnotations[pairs[i]] = pairs[i+1]
		}
	}
}

var (
	jobsPath = regexp.MustCompile(`/jobs$`)
	jobPath  = regexp.MustCompile(`/jobs/`)
	podsPath = regexp.MustCompile(`/pods$`)
)

// What the API server cannot do for now is not noticed.
func TestPassingFaults(t *testing.T) {
	t.Parallel()
	watches := func(r *http.Request) bool { return r.URL.Query().Get("watch") == "true" }
	for name, rule := range map[string]faultproxy.Rule{
		"read":                   {Method: http.MethodGet, Path: jobPath, Times: 2, Do: faultproxy.Answer(http.StatusInternalServerError)},
		"create":                 {Method: http.MethodPost, Times: 2, Do: faultproxy.TooManyRequests(0)},
		"create, answer is lost": {Method: http.MethodPost, Times: 1, AfterUpstream: true, Do: faultproxy.Cut()},
		"list":                   {Path: podsPath, Times: 3, Do: faultproxy.Cut()},
		"watch of Jobs":          {Path: jobsPath, Match: watches, Times: 2, Do: faultproxy.Cut()},
		"watch of pods":          {Path: podsPath, Match: watches, Times: 2, Do: faultproxy.Answer(http.StatusGone)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			proxy, err := faultproxy.ForCluster(b.cluster.Config())
			if err != nil {
				t.Fatal(err)
			}
			defer proxy.Close()
			fault := proxy.Add(rule)
			c := b.config()
			c.REST = proxy.Config(c.REST)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := b.start(ctx, b.backend(c), solveOf("web"))
			j := b.job(t.Context())
			<-fault.Reached()
			b.succeed(j)
			if got := <-done; got.err != nil || got.Digest != digest {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A Job whose creation was not confirmed is its creator's all the same, when the answer
// was lost and when ctx ended before it came.
func TestUnconfirmedJobIsDeleted(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]faultproxy.Action{"lost": faultproxy.Cut(), "late": faultproxy.Stall()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			proxy, err := faultproxy.ForCluster(b.cluster.Config())
			if err != nil {
				t.Fatal(err)
			}
			defer proxy.Close()
			fault := proxy.Add(faultproxy.Rule{Method: http.MethodPost, Times: 1, AfterUpstream: true, Do: do})
			c := b.config()
			c.REST = proxy.Config(c.REST)
			rest, counter := devtest.Count(c.REST)
			c.REST = rest
			ctx, cancel := context.WithCancel(t.Context())
			done := b.start(ctx, b.backend(c), solveOf("web"))
			b.job(t.Context())
			<-fault.Reached()
			if name == "lost" {
				b.watches(counter)
			}
			cancel()
			if got := <-done; !errors.Is(got.err, context.Canceled) {
				t.Errorf("error %v", got.err)
			}
			if left := b.remaining(); len(left) != 0 {
				t.Errorf("%d Jobs are left", len(left))
			}
		})
	}
}

func TestNoRights(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.config()
	c.REST, _ = devtest.User(t, b.cluster, b.namespace, devtest.Rights{})
	var failed *lifecycle.Error
	_, err := b.backend(c).Solve(t.Context(), solveOf("web"))
	if !errors.Is(err, lifecycle.ErrUnreachable) || !errors.As(err, &failed) || !strings.Contains(failed.Advice, "docs/build-jobs.md#rights") {
		t.Errorf("error %v", err)
	}
}

func TestNoNamespace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.config()
	c.Namespace = b.namespace + "-x"
	_, err := b.backend(c).Solve(t.Context(), solveOf("web"))
	if err == nil || !strings.Contains(err.Error(), "kubectl create namespace "+c.Namespace) {
		t.Errorf("error %v", err)
	}
}

func TestSecretsThatNobodyNames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := solveOf("web")
	s.Secrets, s.SSH = []string{"npm"}, []string{"default"}
	var lacking *dockerfile.NotSuppliedError
	if _, err := b.backend(b.config()).Solve(t.Context(), s); !errors.As(err, &lacking) || len(lacking.Secrets) != 1 || len(lacking.SSH) != 1 {
		t.Errorf("error %v", err)
	}
	if len(b.remaining()) != 0 {
		t.Error("a Job was made")
	}
}

// The rights that the package comment lists are enough, and each of them is needed.
func TestDocumentedRights(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: documentedRules(t)})
	audit := devtest.RecordAudit(t, b.cluster)

	c := b.config()
	c.REST = config
	done := b.start(t.Context(), b.backend(c), solveOf("web"))
	b.succeed(b.job(t.Context()))
	if got := <-done; got.err != nil {
		t.Error(got.err)
	}
	c.StartWithin = time.Second
	if _, err := b.backend(c).Solve(t.Context(), solveOf("api")); err == nil {
		t.Error("it is said to have started")
	}

	used := map[string]bool{}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Code == http.StatusForbidden {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
		used[e.Verb+" "+e.Resource] = true
		if strings.Contains(e.RequestURI, "/log?") {
			used[e.Verb+" pods/log"] = true
		}
	}
	rules := documentedRules(t)
	if diff := cmp.Diff(rules, rulesOfPage(t)); diff != "" {
		t.Errorf("the package comment and the page differ:\n%s", diff)
	}
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			if !used[verb+" "+rule.Resources[0]] {
				t.Errorf("the right to %s %s is documented and not used", verb, rule.Resources[0])
			}
		}
	}
}

// documentedRules are those of the package comment.
func documentedRules(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	rules := rulesBetween(t, "doc.go", "# Rights in the cluster\n", "//\n", "//\n// Kubernetes 1.29")
	if len(rules) != 4 {
		t.Fatalf("%d rules are documented", len(rules))
	}
	return rules
}

// rulesOfPage are those of the documentation.
func rulesOfPage(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	return rulesBetween(t, "../../../../docs/build-jobs.md", "\n## Rights\n", "```yaml\n", "```")
}

// rulesBetween are those of the Role that stands in a file after a heading, between two marks.
func rulesBetween(t *testing.T, file, heading, begin, end string) []rbacv1.PolicyRule {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(content), heading)
	_, text, _ = strings.Cut(text, begin)
	text, _, _ = strings.Cut(text, end)
	var role rbacv1.Role
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "//\t", "")), &role); err != nil {
		t.Fatal(err)
	}
	return role.Rules
}
