// Package harmless holds sweeps against a rule that is stated once more, without their
// code: while others create, change and delete at random, every single deletion in the
// API server's audit log has to be one that the rule allows, of the very version that
// was there. It holds tests only.
package harmless
