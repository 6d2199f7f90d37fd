package argo

import (
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Group, Version and the kinds are Argo CD's API.
const (
	Group           = "argoproj.io"
	Version         = "v1alpha1"
	KindApplication = "Application"
	KindProject     = "AppProject"
	KindSet         = "ApplicationSet"
)

// Annotations and labels of Argo CD.
const (
	// RefreshAnnotation asks for a comparison: "normal", or "hard" without any
	// cache. The controller removes it in the write that brings the result.
	RefreshAnnotation = "argocd.argoproj.io/refresh"
	// TrackingAnnotation names the Application that an object is a resource of:
	// "parent:group/Kind:namespace/name".
	TrackingAnnotation = "argocd.argoproj.io/tracking-id"
	// InstanceLabel does so by label, where Argo CD is set to it. Other tools
	// write it too.
	InstanceLabel = "app.kubernetes.io/instance"
)

// Application is what is read of an Application object.
type Application struct {
	Metadata  metav1.ObjectMeta `json:"metadata"`
	Spec      Spec              `json:"spec"`
	Operation *Operation        `json:"operation"`
	Status    Status            `json:"status"`
}

// Spec is what an Application asks for.
type Spec struct {
	Project     string      `json:"project"`
	Source      Source      `json:"source"`
	Sources     []Source    `json:"sources"`
	Destination Destination `json:"destination"`
	// SourceHydrator is set where another controller writes the manifests.
	SourceHydrator json.RawMessage `json:"sourceHydrator"`
	SyncPolicy     *SyncPolicy     `json:"syncPolicy"`
}

// Destination is where an Application's resources go.
type Destination struct {
	Server    string `json:"server"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// SyncPolicy says who begins a sync.
type SyncPolicy struct {
	Automated *struct {
		Enabled  *bool `json:"enabled"`
		Prune    bool  `json:"prune"`
		SelfHeal bool  `json:"selfHeal"`
	} `json:"automated"`
	SyncOptions []string        `json:"syncOptions"`
	Retry       json.RawMessage `json:"retry"`
}

// Operation is a sync that is asked for.
type Operation struct {
	Sync *struct {
		Revision  string   `json:"revision"`
		Revisions []string `json:"revisions"`
		Source    Source   `json:"source"`
		Sources   []Source `json:"sources"`
	} `json:"sync"`
	InitiatedBy struct {
		Username  string `json:"username"`
		Automated bool   `json:"automated"`
	} `json:"initiatedBy"`
}

// Status is what the controller says.
type Status struct {
	Sync struct {
		Status     string   `json:"status"`
		Revision   string   `json:"revision"`
		Revisions  []string `json:"revisions"`
		ComparedTo struct {
			Source  Source   `json:"source"`
			Sources []Source `json:"sources"`
		} `json:"comparedTo"`
	} `json:"sync"`
	Health         Health           `json:"health"`
	OperationState *OperationState  `json:"operationState"`
	Conditions     []Condition      `json:"conditions"`
	ReconciledAt   metav1.Time      `json:"reconciledAt"`
	Resources      []ResourceStatus `json:"resources"`
	History        []Synced         `json:"history"`
	Summary        struct {
		Images []string `json:"images"`
	} `json:"summary"`
}

// Synced is what a full sync brought that succeeded.
type Synced struct {
	Revision  string   `json:"revision"`
	Revisions []string `json:"revisions"`
	Source    Source   `json:"source"`
	Sources   []Source `json:"sources"`
}

// Health is a health with its reason.
type Health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// Condition is something that an Application reports of itself.
type Condition struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// OperationState is the last operation.
type OperationState struct {
	Operation  Operation   `json:"operation"`
	Phase      string      `json:"phase"`
	Message    string      `json:"message"`
	StartedAt  metav1.Time `json:"startedAt"`
	FinishedAt metav1.Time `json:"finishedAt"`
	// RetryCount is how often it was, or is about to be, tried again.
	RetryCount int64 `json:"retryCount"`
	SyncResult *struct {
		Revision  string           `json:"revision"`
		Revisions []string         `json:"revisions"`
		Source    Source           `json:"source"`
		Sources   []Source         `json:"sources"`
		Resources []ResourceResult `json:"resources"`
	} `json:"syncResult"`
}

// Resource names an object of the target.
type Resource struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String is how messages name a resource: "Deployment shop/api".
func (r Resource) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// ResourceStatus is what the last comparison said of a resource.
type ResourceStatus struct {
	Resource
	Status          string  `json:"status"`
	Health          *Health `json:"health"`
	RequiresPruning bool    `json:"requiresPruning"`
	// Hook says that it is a hook of Argo CD: it has no sync status, counts in no
	// health, and is said to require pruning whether or not it is declared.
	Hook bool `json:"hook"`
}

// ResourceResult is what an operation did to a resource.
type ResourceResult struct {
	Resource
	Status    string `json:"status"`
	Message   string `json:"message"`
	HookType  string `json:"hookType"`
	HookPhase string `json:"hookPhase"`
	SyncPhase string `json:"syncPhase"`
}

// ParseApplication reads an Application's JSON. A field of the wrong type is an
// error; unknown fields are left out.
func ParseApplication(data []byte) (*Application, error) {
	a := &Application{}
	if err := json.Unmarshal(data, a); err != nil {
		return nil, fmt.Errorf("read the Application: %w", err)
	}
	return a, nil
}

// Sources returns the sources, of which there is one or, for an Application with
// several, that list.
func (a *Application) Sources() []Source { return several(a.Spec.Sources, a.Spec.Source) }

// Several says whether the Application has a list of sources.
func (a *Application) Several() bool { return len(a.Spec.Sources) > 0 }

func several(list []Source, one Source) []Source {
	if len(list) > 0 {
		return list
	}
	return []Source{one}
}

// Revisions returns what was compared last, one for each source.
func (a *Application) Revisions() []string {
	if a.Several() {
		return a.Status.Sync.Revisions
	}
	return []string{a.Status.Sync.Revision}
}

// Automated says whether the controller begins a sync by itself.
func (a *Application) Automated() bool {
	p := a.Spec.SyncPolicy
	return p != nil && p.Automated != nil && (p.Automated.Enabled == nil || *p.Automated.Enabled)
}

// OlderThan says whether it is an older state of another. Versions of one
// resource grow: that is how the server orders them.
func (a *Application) OlderThan(b *Application) bool {
	if a.Metadata.UID != b.Metadata.UID {
		return false
	}
	va, err1 := strconv.ParseUint(a.Metadata.ResourceVersion, 10, 64)
	vb, err2 := strconv.ParseUint(b.Metadata.ResourceVersion, 10, 64)
	return err1 == nil && err2 == nil && va < vb
}

// RefreshAsked says whether a comparison was asked for and has not been answered.
func (a *Application) RefreshAsked() bool {
	_, ok := a.Metadata.Annotations[RefreshAnnotation]
	return ok
}

// String is how messages name an Application.
func (a *Application) String() string { return Name(a.Metadata.Namespace, a.Metadata.Name) }

// Name is how messages name an Application: "Application argocd/shop".
func Name(namespace, name string) string {
	return KindApplication + " " + namespace + "/" + name
}
