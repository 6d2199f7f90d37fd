// Package lazyregexp has regular expressions that are compiled when they are first
// used. A program that links many of them, and needs few in most runs, starts
// faster by that.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regexp.Regexp, of which it has the methods that are called. It is
// safe for concurrent use.
type Regexp struct{ compiled func() *regexp.Regexp }

// New returns the regular expression. One that cannot be compiled panics when it
// is first used.
func New(expression string) *Regexp {
	return &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

// MatchString is regexp.Regexp's.
func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// FindString is regexp.Regexp's.
func (r *Regexp) FindString(s string) string { return r.compiled().FindString(s) }

// FindStringIndex is regexp.Regexp's.
func (r *Regexp) FindStringIndex(s string) []int { return r.compiled().FindStringIndex(s) }

// FindStringSubmatch is regexp.Regexp's.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// ReplaceAllString is regexp.Regexp's.
func (r *Regexp) ReplaceAllString(s, by string) string { return r.compiled().ReplaceAllString(s, by) }

// FindStringSubmatchIndex is regexp.Regexp's.
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}

// FindAllStringIndex is regexp.Regexp's.
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}

// FindAllStringSubmatch is regexp.Regexp's.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

// Split is regexp.Regexp's.
func (r *Regexp) Split(s string, n int) []string { return r.compiled().Split(s, n) }

// Match is regexp.Regexp's.
func (r *Regexp) Match(b []byte) bool { return r.compiled().Match(b) }

// FindSubmatch is regexp.Regexp's.
func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.compiled().FindSubmatch(b) }
