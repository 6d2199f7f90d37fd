// Package policy holds the rules of the code base as tests: what may link what, what no package does, and what each
// package brings along. Each rule is a function from facts to findings, tried on made-up facts that break it and then
// on the project itself. A finding names the place and the reason for the rule.
package policy
