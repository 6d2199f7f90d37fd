package reaper

// DeclarerOf is the tool that declares the object, as a mark on it says, and that
// mark: "Argo CD" and the name of its annotation. Both are empty if none does. A mark
// that was copied from another object counts too.
func DeclarerOf(o Object) (tool, mark string) {
	if by := declaredBy(o); by != nil {
		return by.tool, by.mark
	}
	return "", ""
}

// Protects says why an object is the system's, so that it never ends, or nothing.
func (r Rules) Protects(o Object) string { return r.protects(o) }
