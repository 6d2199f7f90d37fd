package catalogue

// question is what is asked of a pruned tree: whether its links lead to something
// in it. The patterns only say of which image it is.
func (l *linkCheck) question() []byte {
	return appendTexts(question(nil, askLinks), l.patterns.Strings())
}

// recall says whether the cache knows that all links of the pruned tree lead to
// something in it. Nothing else of the whole tree counts then.
func (l *linkCheck) recall(root *remains) bool {
	if l.slots == nil || len(root.special) == 0 {
		return false
	}
	_, ok := l.slots.get(slot(l.question()), root.id)
	return ok
}

// keep puts into the cache that they do.
func (l *linkCheck) keep(root *remains) {
	if l.slots != nil && len(root.special) > 0 && !l.followed {
		l.slots.put(slot(l.question()), root.id, nil)
	}
}
