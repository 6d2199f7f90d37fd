package catalogue

import "testing"

func TestParsePlatform(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Platform{
		"linux/amd64":    {OS: "linux", Architecture: "amd64"},
		"linux/amd64/v3": {OS: "linux", Architecture: "amd64", Variant: "v3"},
		"linux/arm/v7":   {OS: "linux", Architecture: "arm", Variant: "v7"},
		"linux/arm64":    {OS: "linux", Architecture: "arm64"},
		"windows/amd64":  {OS: "windows", Architecture: "amd64"},
	} {
		got, err := ParsePlatform(in)
		if err != nil || got != want {
			t.Errorf("%q: got %+v, error %v", in, got, err)
		}
		if got.String() != in {
			t.Errorf("%q is written %q", in, got)
		}
	}
}

func TestParsePlatformRefuses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                 `is no platform: "" has no operating system and architecture, such as linux/amd64`,
		"amd64":            `is no platform: "amd64" has no operating system and architecture, such as linux/amd64`,
		"Linux/amd64":      `is no platform: "Linux" is no operating system that containers run on (freebsd, linux, windows)`,
		"darwin/arm64":     `is no platform: "darwin" is no operating system that containers run on (freebsd, linux, windows)`,
		"linux/aarch64":    "must be written linux/arm64",
		"linux/arm64/v8":   "must be written linux/arm64",
		"linux/amd64/v1":   "must be written linux/amd64",
		"linux/armhf":      "must be written linux/arm/v7",
		"linux/arm":        "needs a variant: linux/arm/v5 or linux/arm/v6 or linux/arm/v7",
		"linux/amd46":      `is no platform: "amd46" is no known architecture; did you mean "amd64"?`,
		"linux/":           `is no platform: "" is no known architecture (386, amd64, arm, arm64, loong64, mips, mips64, mips64le, mipsle, ppc64, ppc64le, riscv64, s390x)`,
		"linux/amd64/":     `is no platform: amd64 has no variant ""; write linux/amd64 or linux/amd64/v2 or linux/amd64/v3 or linux/amd64/v4`,
		"linux/amd64/v9":   `is no platform: amd64 has no variant "v9"; write linux/amd64 or linux/amd64/v2 or linux/amd64/v3 or linux/amd64/v4`,
		"linux/s390x/a/b":  `is no platform: s390x has no variant "a/b"; write linux/s390x`,
		"linux/amd64/v3/x": `is no platform: amd64 has no variant "v3/x"; write linux/amd64 or linux/amd64/v2 or linux/amd64/v3 or linux/amd64/v4`,
	} {
		if got, err := ParsePlatform(in); err == nil || err.Error() != want {
			t.Errorf("%q: got %+v, error %v\nwant %s", in, got, err, want)
		}
	}
}

func TestNormalPlatforms(t *testing.T) {
	t.Parallel()
	for p, want := range map[Platform]string{
		{OS: "linux", Architecture: "amd64", Variant: "v1"}: "linux/amd64", {OS: "linux", Architecture: "amd64", Variant: "v3"}: "linux/amd64/v3",
		{OS: "linux", Architecture: "arm64", Variant: "v8"}: "linux/arm64", {OS: "linux", Architecture: "arm"}: "linux/arm/v7",
		{OS: "linux", Architecture: "arm", Variant: "v6"}: "linux/arm/v6", {OS: "linux", Architecture: "s390x"}: "linux/s390x",
	} {
		got := p.Normal()
		if parsed, err := ParsePlatform(want); err != nil || got != parsed || got.String() != want {
			t.Errorf("%s: %s, want %s (%v)", p, got, want, err)
		}
	}
}
