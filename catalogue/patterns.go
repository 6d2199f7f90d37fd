package catalogue

// Patterns is a compiled pattern list (placeholder until the matcher stands).
type Patterns struct{ list []string }
