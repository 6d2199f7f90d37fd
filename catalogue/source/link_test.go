package source

import (
	"errors"
	"strings"
	"testing"
)

func TestReadLink(t *testing.T) {
	t.Parallel()
	for target, ok := range map[string]bool{
		"a": true, "../b": true, strings.Repeat("a", 4095): true, strings.Repeat("a", 4096): false, "": false, "a\x00b": false,
	} {
		tree, err := FromFiles(map[string]File{"link": {Mode: ModeSymlink, Content: target}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadLink(t.Context(), tree.Objects, HashBlob([]byte(target)))
		if ok && (err != nil || got != target) || !ok && !errors.Is(err, ErrMalformed) {
			t.Errorf("%d bytes: %.20q, %v", len(target), got, err)
		}
	}
	tree, err := FromFiles(map[string]File{"f": {Content: "f"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLink(t.Context(), tree.Objects, HashBlob([]byte("absent"))); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}
