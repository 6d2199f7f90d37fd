package render

// For the tests.
const (
	Module   = kustomizeModule
	Fallback = kustomizeVersion
)
