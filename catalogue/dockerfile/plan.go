package dockerfile

// Options are what a recipe says about how a Dockerfile is built.
type Options struct {
	// Target is the name of the stage that becomes the image, in any case. The
	// default is the last one.
	Target string
	// Args are the build arguments by name.
	Args map[string]string
	// Platform is the platform that the image is for, such as "linux/arm64" or
	// "linux/arm/v7". The default is that no platform is known: what depends on
	// TARGETPLATFORM and its parts is an error.
	Platform string
}

// Plan is what a Dockerfile needs for one target, with its arguments expanded.
// It is not modified after it was made and safe for concurrent use.
type Plan struct {
	// Bases are the image references that the target is built on, as they are
	// written, but with arguments expanded: those of FROM, COPY --from= and RUN
	// --mount=from=, in the order of their first use, each once. Neither
	// scratch nor stages are among them.
	Bases []string
	// Frontend is File.Frontend, unless the build argument BUILDKIT_SYNTAX
	// overrides it.
	Frontend string

	file *File
}

// Plan says what the target needs. The error is a *ParseError, or several that
// are joined.
func (f *File) Plan(o Options) (*Plan, error) {
	return &Plan{Frontend: f.Frontend, file: f}, nil
}
