package dockerfile_test

import "testing"

// What ignore rules keep out is among the inputs, and not in the context.
func TestIgnoredSources(t *testing.T) {
	t.Parallel()
	f := &fixture{t: t, host: "registry.invalid"}
	f.use(refusing{t})
	p := project{inputs: `["**"]`, files: map[string]string{
		"Dockerfile": "FROM scratch\nCOPY a /\nCOPY b c /\n", ".dockerignore": "a\nc\n", "a": "a", "b": "b", "c": "c",
	}}
	failed := f.fail(f.request(p))
	want := "Dockerfile:2: a is kept out of the build context by .dockerignore; Dockerfile:3: c is kept out of the build context by .dockerignore"
	if failed.Reason != want || len(failed.Missing) > 0 {
		t.Errorf("got  %s, %v\nwant %s", failed.Reason, failed.Missing, want)
	}
}
