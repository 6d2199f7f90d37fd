package catalogue

import (
	"path"

	"github.com/pharos-dev/pharos/internal/linkerflags"
	"github.com/pharos-dev/pharos/internal/strictyaml"
)

func parseBuild(n strictyaml.Node) Build {
	kinds := n.Map(BuildGo, BuildDockerfile, BuildFiles)
	switch kind := kinds.OneOf(BuildGo, BuildDockerfile, BuildFiles); kind {
	case BuildGo:
		return Build{Go: parseGo(kinds.Required(kind))}
	case BuildDockerfile:
		return Build{Dockerfile: parseDockerfile(kinds.Required(kind))}
	case BuildFiles:
		return Build{Files: parseFiles(kinds.Required(kind))}
	}
	return Build{}
}

func parseGo(n strictyaml.Node) *GoBuild {
	fields := n.Map("package", "ldflags", "tags", "env", "toolchain", "base", "assets")
	b := &GoBuild{
		Package:   cleanPackage(fields.Required("package").String(checkPackage)),
		LDFlags:   parseLDFlags(fields.Optional("ldflags")),
		Tags:      fields.Optional("tags").StringSet(checkTag),
		Env:       fields.Optional("env").StringMap(CheckGoEnv),
		Toolchain: fields.Optional("toolchain").String(checkToolchain),
		Base:      Scratch,
		Assets:    cleanPaths(fields.Optional("assets").StringSet(checkPath)),
	}
	if base := fields.Optional("base").String(checkBase); base != "" {
		b.Base = base
	}
	return b
}

func parseLDFlags(n strictyaml.Node) []string {
	var checker linkerflags.Checker
	flags := n.Strings(checkLine, checker.Check, checkTemplates)
	if err := checker.End(); err != nil {
		n.Errorf("%v", err)
	}
	return flags
}

func parseDockerfile(n strictyaml.Node) *DockerfileBuild {
	fields := n.Map("path", "target", "args", "secrets", "ssh")
	b := &DockerfileBuild{
		Path:    "Dockerfile",
		Target:  fields.Optional("target").String(checkStage),
		Args:    fields.Optional("args").StringMap(checkArg),
		Secrets: fields.Optional("secrets").StringSet(checkID),
		SSH:     fields.Optional("ssh").StringSet(checkID),
	}
	if p := fields.Optional("path").String(checkPath); p != "" {
		b.Path = path.Clean(p)
	}
	return b
}

func parseFiles(n strictyaml.Node) *FilesBuild {
	fields := n.Map("from", "root", "mediaType")
	b := &FilesBuild{
		From:      ".",
		Root:      "/",
		MediaType: fields.Optional("mediaType").String(checkMediaType),
	}
	if p := fields.Optional("from").String(checkPath); p != "" {
		b.From = path.Clean(p)
	}
	if p := fields.Optional("root").String(checkImagePath); p != "" {
		b.Root = path.Clean(p)
	}
	return b
}
