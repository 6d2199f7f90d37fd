package ephemeral

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestName(t *testing.T) {
	t.Parallel()
	for of, want := range map[string]string{
		"TestShop":                               "test-shop",
		"TestShop/Pays_with a card":              "test-shop-pays-with-a-card",
		"TestHTTPServer/v2":                      "test-httpserver-v2",
		"Kube proxy restarts [Slow]":             "test-kube-proxy-restarts-slow",
		"default":                                "test-default",
		"testing":                                "test-testing",
		"--- ":                                   "test",
		"":                                       "test",
		"Übergrößen/日本":                          "test-bergr-en",
		"TestA/" + strings.Repeat("b", 99):       "test-a-" + strings.Repeat("b", 45),
		"test-" + strings.Repeat("b", 46) + " c": "test-" + strings.Repeat("b", 46),
	} {
		got := name(of)
		if i := strings.LastIndex(got, "-"); got[:max(i, 0)] != want || len(got)-i != suffix+1 {
			t.Errorf("%q: %s, want %s and a suffix", of, got, want)
		}
		if got == name(of) {
			t.Errorf("%q: twice the same name", of)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, of := range []string{"TestShop/Pays", "kube-system", "", "İ\xff", strings.Repeat("Aa", 50)} {
		f.Add(of)
	}
	f.Fuzz(func(t *testing.T, of string) {
		got := name(of)
		if msgs := validation.IsDNS1123Label(got); len(msgs) > 0 || !strings.HasPrefix(got, "test-") {
			t.Errorf("%q: %q: %v", of, got, msgs)
		}
	})
}
