package environment

// hidden is a value that nothing shows: what is in a closure is reached neither by
// fmt, which looks into unexported fields without asking their methods, nor by
// encoders.
type hidden struct{ reveal func() string }

func hide(text string) hidden { return hidden{func() string { return text }} }

func (h hidden) text() string {
	if h.reveal == nil {
		return ""
	}
	return h.reveal()
}
