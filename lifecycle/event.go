package lifecycle

import (
	"time"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/receipt"
)

// EventType says what an event reports.
type EventType string

// The types of event, in the order of a delivery, and of a hand-back. Each but EventStarted,
// EventLeaseAwaited, EventPlanned, EventRendered and EventImageBuilding is sent
// after the durable effect that it names.
const (
	// EventStarted: an operation began; nothing was read or written yet.
	EventStarted EventType = "started"
	// EventLeaseAwaited: somebody else holds the lease, and the operation waits
	// for it: Event.Lease. It is sent again when the holder changes.
	EventLeaseAwaited EventType = "lease-awaited"
	// EventStepPrepared: a step of the preparation of a target was done, and the
	// checkpoint has it: Event.Step.
	EventStepPrepared EventType = "step-prepared"
	// EventPrepared: the target is prepared for deliveries, and bound to the
	// repository.
	EventPrepared EventType = "prepared"
	// EventPlanned: everything was read and decided: Event.Plan.
	EventPlanned EventType = "planned"
	// EventRendered: the overlay was rendered, before anything is built:
	// Event.Findings.
	EventRendered EventType = "rendered"
	// EventImageReused: the registry answered for an image of the same
	// fingerprint: Event.Image.
	EventImageReused EventType = "image-reused"
	// EventImageBuilding: the build of an image begins: Event.Image.
	EventImageBuilding EventType = "image-building"
	// EventImageBuilt: an image was built, and the registry answers for it:
	// Event.Image.
	EventImageBuilt EventType = "image-built"
	// EventLeaseAcquired: the target is ours: Event.Lease.
	EventLeaseAcquired EventType = "lease-acquired"
	// EventReceiptWritten: the record is in the store: Event.Receipt.
	EventReceiptWritten EventType = "receipt-written"
	// EventCommitPublished: the Git server that the target fetches from keeps the
	// commit for the receipt.
	EventCommitPublished EventType = "commit-published"
	// EventAttemptRecorded: the receipt's outcomes say that a delivery began.
	EventAttemptRecorded EventType = "attempt-recorded"
	// EventAppliedMoved: the applied pointer names the receipt.
	EventAppliedMoved EventType = "applied-moved"
	// EventObjectApplied: the target accepted an object: Event.Change.
	EventObjectApplied EventType = "object-applied"
	// EventDelivered: the target accepted every object.
	EventDelivered EventType = "delivered"
	// EventWaiting: some objects are not healthy yet: Event.Unready.
	EventWaiting EventType = "waiting"
	// EventHealthy: every object is healthy at its newest generation.
	EventHealthy EventType = "healthy"
	// EventOutcomeRecorded: the receipt's outcomes say how the delivery ended, or
	// which Jobs completed: Event.Outcome.
	EventOutcomeRecorded EventType = "outcome-recorded"
	// EventLiveMoved: the live pointer names the receipt.
	EventLiveMoved EventType = "live-moved"
	// EventGateOpened: what a lease kept away from the target may write again, and
	// did as far as it was waited for: Event.Gate.
	EventGateOpened EventType = "gate-opened"
	// EventLeaseReleased: the target is free.
	EventLeaseReleased EventType = "lease-released"
	// EventFinished: the operation ended: Event.Error is empty if it succeeded.
	EventFinished EventType = "finished"
)

// EventTypes returns all types of event, in the order of a delivery.
func EventTypes() []EventType {
	return []EventType{
		EventStarted, EventLeaseAwaited, EventStepPrepared, EventPrepared, EventPlanned, EventRendered, EventImageReused, EventImageBuilding, EventImageBuilt, EventLeaseAcquired,
		EventReceiptWritten, EventCommitPublished, EventAttemptRecorded, EventAppliedMoved, EventObjectApplied, EventDelivered, EventWaiting, EventHealthy, EventOutcomeRecorded, EventLiveMoved,
		EventGateOpened, EventLeaseReleased, EventFinished,
	}
}

// Event is one step of an operation. It carries no secret value and no output
// of a tool.
type Event struct {
	Type      EventType `json:"type"`
	Time      time.Time `json:"time"`      // UTC
	Operation string    `json:"operation"` // random, the same for all events of one call
	Target    string    `json:"target"`
	Commit    string    `json:"commit,omitempty"`

	Plan     *Plan               `json:"plan,omitempty"`
	Findings []Finding           `json:"findings,omitempty"`
	Image    *ImageStatus        `json:"image,omitempty"`
	Lease    *lease.State        `json:"lease,omitempty"`
	Gate     *lease.Report       `json:"gate,omitempty"`
	Receipt  receipt.ID          `json:"receipt,omitempty"`
	Change   *Change             `json:"change,omitempty"`
	Unready  []ObjectStatus      `json:"unready,omitempty"`
	Outcome  receipt.OutcomeType `json:"outcome,omitempty"`
	Step     string              `json:"step,omitempty"`
	// Written is how many objects EventStepPrepared had to create or change.
	Written int           `json:"written,omitempty"`
	Error   string        `json:"error,omitempty"`
	Took    time.Duration `json:"took,omitempty"` // nanoseconds; for EventImageBuilt and EventFinished
}

// Sink receives events, from one goroutine at a time. It should return
// quickly: the operation waits for it.
type Sink func(Event)
