// Package follow keeps what is known of a few objects up to date: it lists them once and watches them from there, again and
// again, whatever happens to the API server or the way to it.
//
// Rights: list and watch on the resource.
package follow
