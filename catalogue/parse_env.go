package catalogue

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// refusedGo are the variables of the Go command that may not be set, with the
// reason.
var refusedGo = map[string]string{
	"GOOS":        "follows from platforms",
	"GOARCH":      "follows from platforms",
	"GOAMD64":     "follows from platforms: write linux/amd64/v3, say",
	"GOARM":       "follows from platforms: write linux/arm/v7, say",
	"GOTOOLCHAIN": "follows from the field toolchain",
	"GOFLAGS":     "would change the build in ways that nothing shows: use the fields ldflags and tags",
	"GO111MODULE": "is no choice: programs are built in module mode",
}

// adviceCgo follows what cgo would need of the machine.
const adviceCgo = "the C compiler and its libraries would be whichever the machine has, and nothing would show it: build the program from a Dockerfile whose base is locked"

// isCgo says whether a variable chooses a C compiler or linker, or is for one.
func isCgo(key string) bool {
	switch key {
	case "CC", "CXX", "AR", "FC", "LD", "PKG_CONFIG", "GCCGO", "GO_EXTLINK_ENABLED", "GO_LDSO":
		return true
	}
	return strings.HasPrefix(key, "CGO_") || strings.HasPrefix(key, "PKG_CONFIG_")
}

// allowedGo are the variables that may be set: what they do is the same on every
// machine.
var allowedGo = map[string]bool{
	"CGO_ENABLED": true, "GO386": true, "GOARM64": true, "GOEXPERIMENT": true, "GOFIPS140": true, "GOMIPS": true, "GOMIPS64": true,
	"GOPPC64": true, "GORISCV64": true, "GOWORK": true,
}

// refusedOthers are variables of the machine, with the reason.
var refusedOthers = map[string]string{
	"HOME": "is a folder of the machine", "PATH": "is the machine's", "PWD": "is a folder of the machine",
	"TMPDIR": "is a folder of the machine", "USER": "is the machine's", "LD_PRELOAD": "is the machine's",
	"LD_LIBRARY_PATH": "is the machine's",
}

// secretWords are words in the names of variables that hold secrets.
var secretWords = []string{"TOKEN", "PASSWORD", "PASSWD", "SECRET", "CREDENTIAL", "CREDENTIALS", "APIKEY", "API_KEY", "PRIVATE_KEY", "ACCESS_KEY"}

// SecretName says whether a variable of that name most likely holds a secret.
func SecretName(name string) bool {
	padded := "_" + strings.ToUpper(name) + "_"
	for _, w := range secretWords {
		if strings.Contains(padded, "_"+w+"_") {
			return true
		}
	}
	return false
}

// CheckGoEnv says what is wrong with a variable of GoBuild.Env, as Parse does. It
// accepts those that give the same result on every machine and may stand in a
// receipt. The error follows the variable's name.
func CheckGoEnv(key, value string) error {
	if !identifier.MatchString(key) {
		return errors.New("is no name of an environment variable")
	}
	if reason := refusedGo[key]; reason != "" {
		return fmt.Errorf("may not be set: it %s", reason)
	}
	if key == "GOWORK" && value != "off" {
		return fmt.Errorf("is %q, and can only be \"off\": otherwise it follows from the tree, where a go.work counts if it is among the inputs", value)
	}
	if key == "CGO_ENABLED" && value != "0" {
		return fmt.Errorf("is %q, and can only be \"0\": %s", value, adviceCgo)
	}
	if isCgo(key) && key != "CGO_ENABLED" {
		return fmt.Errorf("may not be set: programs are built without cgo; with it %s", adviceCgo)
	}
	if reason := refusedOthers[key]; reason != "" {
		return fmt.Errorf("may not be set: it %s, and the image would depend on it", reason)
	}
	if SecretName(key) {
		return errors.New("looks like a secret, and this file, fingerprints and receipts are no place for one")
	}
	if strings.HasPrefix(key, "GO") && !strings.Contains(key, "_") && !allowedGo[key] {
		return errors.New("may not be set: where modules, caches and tools are found is the machine's own configuration and must not reach the image")
	}
	if err := checkLine(value); err != nil {
		return err
	}
	if !allowedGo[key] {
		return fmt.Errorf("may not be set: it has no say in what the Go command makes; those that have are %s", strings.Join(slices.Sorted(maps.Keys(allowedGo)), ", "))
	}
	return nil
}
