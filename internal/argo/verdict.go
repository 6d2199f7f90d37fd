package argo

// State is what an Application is found to be.
type State string

// The states.
const (
	// Live: the exact commit is live and healthy.
	Live State = "live"
	// Waiting: it is on its way, or can be moved on: see Verdict.Need.
	Waiting State = "waiting"
	// Failed: what was asked for does not work; see Verdict.Fault.
	Failed State = "failed"
	// Foreign: its source is not what was written: somebody put it back.
	Foreign State = "foreign"
	// Blocked: a sync window parks its operation, or somebody else's operation
	// runs.
	Blocked State = "blocked"
	// Stale: the controller cannot tell what is asked for or what is there, or
	// has not looked since.
	Stale State = "stale"
)

// Need is what moves an Application on that does not move by itself.
type Need string

// The needs.
const (
	NeedNothing Need = ""
	NeedRefresh Need = "refresh"
	NeedSync    Need = "sync"
)

// Fault is what kind of thing went wrong, and so whose it is to mend.
type Fault string

// The faults.
const (
	FaultNone       Fault = ""
	FaultSync       Fault = "sync"       // an object was refused, or a hook failed
	FaultHealth     Fault = "health"     // what was applied does not become healthy
	FaultRepository Fault = "repository" // the Git server does not answer, let in, or know the commit
	FaultManifests  Fault = "manifests"  // the overlay does not render there
	FaultSpec       Fault = "spec"       // the project does not allow it
	FaultCluster    Fault = "cluster"    // Argo CD does not reach what it delivers to
)

// Verdict is what was found.
type Verdict struct {
	State State
	Fault Fault
	Need  Need
	// Reason is one line for a person. It does not name the Application.
	Reason string
	// Resource is what failed, and Phase the phase of the sync in which it did:
	// "PreSync"; both empty where that is not known.
	Resource Resource
	Phase    string
	// Failures are all resources that made a sync fail, or make it fail while it
	// is tried again.
	Failures []Failure
	// Retrying says that the sync that failed waits to be tried again, for no
	// good reason: see [Failure.Final]. Retries is how often it will then have
	// been.
	Retrying bool
	Retries  int64
	// Synced says that the commit is what was compared, and that nothing
	// differs from it: what is left is health.
	Synced bool
	// Drifted are the resources that differ from the commit.
	Drifted []Resource
	// Orphans are resources that are not declared any more.
	Orphans []Resource
	// Hooks are hooks that are there, whether or not they are declared: Argo CD
	// does not tell.
	Hooks []Resource
}

// Want is what an Application is judged against.
type Want struct {
	// Hash is [HashSources] of the sources that were written. Empty takes the
	// Application's own for right.
	Hash string
	// Commit is what the sources that name it must have been compared at.
	Commit string
	// Images are the digests that the sources may set, each "repository@digest".
	Images []string
	// Before is the operation that was the last one before the write; one that
	// still is says nothing of it.
	Before Last
	// Healthy says that what the commit declares was found healthy by looking at
	// it: the Application's own health counts what is declared no more, too.
	Healthy bool
}

// Last identifies an operation: its phase, and when it ended.
type Last struct {
	Phase    string
	Finished int64 // seconds since 1970; 0 if it has not ended
}

// LastOf identifies the Application's last operation.
func LastOf(a *Application) Last {
	s := a.Status.OperationState
	if s == nil {
		return Last{}
	}
	l := Last{Phase: s.Phase}
	if !s.FinishedAt.IsZero() {
		l.Finished = s.FinishedAt.Unix()
	}
	return l
}
