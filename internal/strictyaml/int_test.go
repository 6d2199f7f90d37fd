package strictyaml

import "testing"

func TestInt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"n: 3\n": "", "n: 10\n": "", "{}\n": "",
		"n: 2\n":                    "f:1:4: n: is 2, and must be from 3 to 10",
		"n: 11\n":                   "f:1:4: n: is 11, and must be from 3 to 10",
		"n: -4\n":                   "f:1:4: n: is -4, and must be from 3 to 10",
		"n: 3.0\n":                  "f:1:4: n: must be a whole number, not the number 3.0",
		"n: 0x4\n":                  "f:1:4: n: must be a whole number, not the number 0x4",
		"n: four\n":                 `f:1:4: n: must be a whole number, not the string "four"`,
		"n: '4'\n":                  `f:1:4: n: must be a whole number, not the string "4"`,
		"n:\n":                      "f:1:3: n: has no value: give it one (a number) or leave it out",
		"n: [4]\n":                  "f:1:4: n: must be a number, not a list",
		"n: 99999999999999999999\n": "f:1:4: n: must be a whole number, not the number 99999999999999999999",
	} {
		got := 0
		if p := problems(t, in, func(n Node) { got = n.Map("n").Optional("n").Int(3, 10) }); p != want {
			t.Errorf("%q: %q, want %q", in, p, want)
		}
		if want != "" && got != 0 {
			t.Errorf("%q: it is %d beside the problem", in, got)
		}
	}
}
