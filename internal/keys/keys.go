// Package keys holds every label, annotation and field manager that Pharos
// writes or reads.
package keys

const (
	// Target is the label on every delivered object; its value is the target's
	// name.
	Target = "pharos.dev/target"
	// Fingerprint is the annotation on an image index: the fingerprint that it
	// was built from.
	Fingerprint = "pharos.dev/fingerprint"
	// Manager is Pharos's field manager.
	Manager = "pharos"
)
