package main

import (
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/pharos-dev/pharos/catalogue/cachefile"
)

// shared is what all subcommands share: streams, kubectl's connection flags, and
// which repository and target.
type shared struct {
	genericiooptions.IOStreams
	config *genericclioptions.ConfigFlags
	repo   string
	target string
	// gitDir is the Git folder of the repository, once that was opened.
	gitDir string
	// onTarget is the target, once that was opened.
	onTarget *openedTarget
	// fingerprints is what is kept in the Git folder of what they are computed of,
	// once it was opened; nil if it cannot be.
	fingerprints *cachefile.File
	opened       sync.Once // fingerprints
	// counted are the targets whose receipts say which images are used.
	counted []countedTarget
}

func newRoot(streams genericiooptions.IOStreams) *cobra.Command {
	config := genericclioptions.NewConfigFlags(true).WithWarningPrinter(streams)
	config.Namespace = nil // the target's document says it
	s := &shared{IOStreams: streams, config: config}

	cmd := &cobra.Command{
		Use:   "kubectl-pharos",
		Short: "Give everything on a Kubernetes target an owner and, where it should not last, an end",
		Long: `Give everything on a Kubernetes target an owner and, where it should not last, an end.

deploy prepares a cluster, and reconcile takes a Git commit to it: it builds only the images whose
declared inputs changed, records a receipt, delivers by digest, and proves that
the target is healthy at exactly that commit. What is built from what, and where
it goes, stands in pharos.yaml at the root of the repository.

Exit codes: 0 done; 1 not as it should be; 2 usage or unexpected; 3 repository,
pharos.yaml or build; 4 cluster, registry, Git server or BuildKit unreachable or
forbidden; 5 blocked by a lease, by the owner of a field or by another repository;
6 delivered but not healthy; 130 interrupted.

kubectl's own flags stand behind the plugin's name: kubectl pharos --context dev.`,
		Example: `  # What would be built from the last commit
  kubectl pharos images

  # Prepare the target, and bring it to the last commit
  kubectl pharos deploy

  # Bring it to the next commit
  kubectl pharos reconcile

  # What is on the target
  kubectl pharos status`,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl pharos"},
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}, // kubectl does it: see newCompletion
	}
	cmd.SetIn(streams.In)
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.ErrOut)

	flags := cmd.PersistentFlags()
	config.AddFlags(flags)
	addKlog(flags)
	markKubectl(flags)
	flags.StringVar(&s.repo, "repo", ".", "The repository: the one around this folder")
	flags.StringVar(&s.target, "target", "", "The target's name; needed if pharos.yaml has several")
	_ = cmd.RegisterFlagCompletionFunc("target", s.completeTargets)
	s.completeKubeconfig(cmd)

	cmd.AddCommand(newInit(s), newLock(s), newImages(s), newWhy(s), newRender(s), newDiff(s), newDeploy(s), newReconcile(s), newRollback(s), newStatus(s), newReceipts(s), newLease(s), newMaintenance(s), newTakeover(s), newHandback(s), newInventory(s), newTouch(s), newExtend(s), newRetain(s), newReap(s), newPolicy(s), newController(s), newOptions(s), newVersion(s), newCompletion(s))
	addVersion(cmd)
	group(cmd)
	explainUsage(cmd)
	shortenHelp(cmd)
	s.keepFingerprints(cmd)
	s.tellOfLeft(cmd)
	return cmd
}
