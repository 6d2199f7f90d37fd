package strictyaml

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Int reads a whole number from min to max, in decimal digits.
func (n Node) Int(min, max int) int {
	if !n.is(yaml.ScalarNode, "a number") {
		return 0
	}
	value, err := strconv.Atoi(n.node.Value)
	switch {
	case n.node.Tag == "!!null":
		n.Errorf("has no value: give it one (a number) or leave it out")
	case n.node.Tag != "!!int" || err != nil:
		n.Errorf("must be a whole number, not %s", describe(n.node))
	case value < min || value > max:
		n.Errorf("is %d, and must be from %d to %d", value, min, max)
	default:
		return value
	}
	return 0
}
