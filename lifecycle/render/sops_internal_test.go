package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// value is one in the form of SOPS.
var value = form("c2VhbGVk", strings.Repeat("A", 43)+"=", strings.Repeat("A", 22)+"==", "str")

func form(data, iv, tag, kind string) string {
	return fmt.Sprintf("ENC[AES256_GCM,data:%s,iv:%s,tag:%s,type:%s]", data, iv, tag, kind)
}

func TestEncrypted(t *testing.T) {
	t.Parallel()
	iv, tag := strings.Repeat("A", 43)+"=", strings.Repeat("A", 22)+"=="
	for s, want := range map[string]bool{
		value:                              true,
		form("AA==", iv, tag, "bool"):      true,
		form("AA==", iv, tag, "password"):  false,
		form("", iv, tag, "str"):           false,
		form("hunter2", iv, tag, "str"):    false,
		form("AB==", iv, tag, "str"):       false, // bits that stand for nothing
		form("AA\n==", iv, tag, "str"):     false,
		form("AA==", "AA==", tag, "str"):   false,
		form("AA==", iv, iv, "str"):        false,
		form("AA==", iv, tag, "str") + "x": false,
		" " + value:                        false,
		"ENC[AES256_GCM,data:hunter2]":     false,
		"":                                 false,
	} {
		if got := encrypted(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestSealed(t *testing.T) {
	t.Parallel()
	whole := `{"sops":{"mac":"` + value + `","version":"3","lastmodified":"2026-11-30T00:00:00Z","age":[{"enc":"x"}]}}`
	for name, tt := range map[string]struct {
		old, new string
		want     bool
	}{
		"whole":           {"", "", true},
		"Vault":           {"age", "hc_vault", true},
		"groups":          {`"age":[{"enc":"x"}]`, `"key_groups":[{},{"kms":[{"enc":"x"}]}]`, true},
		"plain code":      {value, "ENC[AES256_GCM,data:x]", false},
		"no code":         {"mac", "mad", false},
		"no version":      {"version", "v", false},
		"no time":         {"lastmodified", "l", false},
		"unknown keys":    {"age", "agent", false},
		"no keys":         {`{"enc":"x"}`, "", false},
		"an empty key":    {`"x"`, `" "`, false},
		"keys of no form": {`[{"enc":"x"}]`, `"x"`, false},
		"groups of none":  {`"age":[{"enc":"x"}]`, `"key_groups":[1,null,[]]`, false},
		"of no form":      {`"sops":{`, `"sops":[],"x":{`, false},
		"in another case": {`"sops"`, `"SOPS"`, false},
	} {
		var content map[string]any
		if err := json.Unmarshal([]byte(strings.Replace(whole, tt.old, tt.new, 1)), &content); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := sealed(content); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// FuzzSealed wants values that pass to be of the form, with the very base64 of what
// they stand for, and nothing to pass in an object that is no document of SOPS.
func FuzzSealed(f *testing.F) {
	f.Add(value, `{"mac":"`+value+`","version":"3","lastmodified":"now","age":[{"enc":"x"}]}`)
	f.Add("hunter2", `{"mac":{},"key_groups":[{"pgp":[null]}]}`)
	f.Add("ENC[AES256_GCM,data:,iv:,tag:,type:str]", `[]`)
	f.Fuzz(func(t *testing.T, text, sops string) {
		content := map[string]any{"stringData": map[string]any{"a": text}}
		var meta any
		if json.Unmarshal([]byte(sops), &meta) == nil {
			content["sops"] = meta
		}
		plain := plainKeys(content)["a"]
		m := encryptedForm.FindStringSubmatch(text)
		switch {
		case text == "" || plain:
		case !sealed(content) || m == nil:
			t.Errorf("%q passes in %s", text, sops)
		case len(m[2]) != 44 || len(m[3]) != 24:
			t.Errorf("%q passes, whose nonce or tag is of another length", text)
		}
	})
}
