package render

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
)

// sealed says whether an object is a whole document of SOPS: beside its values
// stands, under sops, a message authentication code over them, and for somebody
// the key that they are encrypted with. Without these nobody could ever read the
// values, so whoever wrote them there did something else with them. The form is that
// of stores.Metadata in SOPS.
func sealed(content map[string]any) bool {
	meta, ok := content["sops"].(map[string]any)
	if !ok {
		return false
	}
	mac, _ := meta["mac"].(string)
	version, _ := meta["version"].(string)
	groups, _ := meta["key_groups"].([]any)
	return encrypted(mac) && version != "" && meta["lastmodified"] != nil && slices.ContainsFunc(append(groups, meta), hasKey)
}

// sopsKeys are the fields in which SOPS keeps the data key, encrypted for each of
// those who may read.
var sopsKeys = []string{"age", "pgp", "kms", "gcp_kms", "azure_kv", "hc_vault"}

func hasKey(group any) bool {
	fields, _ := group.(map[string]any)
	for _, kind := range sopsKeys {
		list, _ := fields[kind].([]any)
		for _, one := range list {
			key, _ := one.(map[string]any)
			if enc, _ := key["enc"].(string); strings.TrimSpace(enc) != "" {
				return true
			}
		}
	}
	return false
}

var encryptedForm = regexp.MustCompile(`^ENC\[AES256_GCM,data:([^,\n]+),iv:([^,\n]+),tag:([^,\n]+),type:(?:str|int|int64|float|bool|bytes|comment|time)\]$`)

const (
	sopsNonce = 32 // bytes
	sopsTag   = 16
)

// encrypted recognizes the form that SOPS gives to a value which it encrypts in its
// place.
func encrypted(s string) bool {
	m := encryptedForm.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	data, ok := bytesOf(m[1])
	iv, ok2 := bytesOf(m[2])
	tag, ok3 := bytesOf(m[3])
	return ok && ok2 && ok3 && data > 0 && iv == sopsNonce && tag == sopsTag
}

// bytesOf is how many bytes a text stands for, which must be their only base64.
func bytesOf(s string) (int, bool) {
	b, err := base64.StdEncoding.DecodeString(s)
	return len(b), err == nil && base64.StdEncoding.EncodeToString(b) == s
}
