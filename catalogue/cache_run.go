package catalogue

import "encoding/binary"

// appendRun appends all of how an image runs, which may be nil.
func appendRun(buf []byte, run *Run) []byte {
	if run == nil {
		return append(buf, 0)
	}
	buf = appendText(append(buf, 1), run.Kind())
	switch {
	case run.Go != nil:
		buf = appendTexts(buf, run.Go.Args)
	case run.Command != nil:
		buf = appendTexts(buf, run.Command)
	case run.Python != nil:
		buf = appendTexts(appendText(appendText(buf, run.Python.Module), run.Python.Script), run.Python.Args)
	case run.Node != nil:
		buf = appendTexts(appendText(appendText(buf, run.Node.Script), run.Node.File), run.Node.Args)
	}
	buf = appendText(buf, run.Dir)
	buf = appendText(buf, string(run.Reload))
	buf = appendTexts(buf, run.Env)
	buf = appendPairs(buf, run.Set)
	buf = appendText(buf, run.EnvFile)
	buf = binary.AppendUvarint(buf, uint64(len(run.Forwards)))
	for _, f := range run.Forwards {
		buf = appendText(appendText(buf, f.Service), f.Namespace)
		buf = binary.AppendUvarint(binary.AppendUvarint(buf, uint64(f.Port)), uint64(f.Local))
		buf = appendTexts(buf, f.Env)
	}
	buf = binary.AppendUvarint(buf, uint64(len(run.Ports)))
	for _, p := range run.Ports {
		buf = binary.AppendUvarint(binary.AppendUvarint(buf, uint64(p.Port)), uint64(p.Local))
		buf = appendTexts(buf, p.Env)
	}
	buf = binary.AppendUvarint(buf, uint64(len(run.Files)))
	for _, f := range run.Files {
		buf = appendTexts(appendText(buf, f.Path), f.Env)
	}
	return buf
}

func (r *answerReader) run() *Run {
	if r.number() == 0 {
		return nil
	}
	run := &Run{}
	switch r.text() {
	case "":
	case RunGo:
		run.Go = &GoRun{Args: r.texts()}
	case RunCommand:
		run.Command = r.texts()
	case RunPython:
		run.Python = &PythonRun{Module: r.text(), Script: r.text(), Args: r.texts()}
	case RunNode:
		run.Node = &NodeRun{Script: r.text(), File: r.text(), Args: r.texts()}
	default:
		r.bad = true
	}
	run.Dir, run.Reload, run.Env = r.text(), Reload(r.text()), r.texts()
	run.Set, run.EnvFile = r.pairs(), r.text()
	for range r.count() {
		run.Forwards = append(run.Forwards, RunForward{Service: r.text(), Namespace: r.text(), Port: r.port(), Local: r.port(), Env: r.texts()})
	}
	for range r.count() {
		run.Ports = append(run.Ports, RunPort{Port: r.port(), Local: r.port(), Env: r.texts()})
	}
	for range r.count() {
		run.Files = append(run.Files, RunFiles{Path: r.text(), Env: r.texts()})
	}
	return run
}

func (r *answerReader) port() uint16 {
	n := r.number()
	if n < 0 || n > 65535 {
		r.bad = true
	}
	return uint16(n)
}
