package argo

// Normalize makes of the spec of an Application what the controller makes of it
// when it first looks at it, and returns the operations that do the same: it
// takes out a policy and options that say nothing, and fills in the project. An
// Application that is declared otherwise is not what its parent declares as soon
// as the controller has seen it, so that the parent is out of sync ever after.
// The rule is that of NormalizeApplicationSpec in Argo CD's util/argo.
func Normalize(spec map[string]any) []Op {
	var ops []Op
	if project, ok := spec["project"].(string); ok && project == "" {
		spec["project"] = defaultProject
		ops = append(ops, Op{Op: "replace", Path: "/spec/project", Value: defaultProject})
	}
	if policy, ok := spec["syncPolicy"].(map[string]any); ok && noPolicy(policy) {
		delete(spec, "syncPolicy")
		ops = append(ops, Op{Op: "remove", Path: "/spec/syncPolicy"})
	}
	if list, _ := spec["sources"].([]any); len(list) > 0 {
		return ops // the controller leaves those as they are
	}
	source, _ := spec["source"].(map[string]any)
	for _, kind := range []string{"kustomize", "helm", "directory"} {
		if options, ok := source[kind].(map[string]any); ok && noOptions(options) {
			delete(source, kind)
			ops = append(ops, Op{Op: "remove", Path: PointerTo("spec", "source", kind)})
		}
	}
	return ops
}

// defaultProject is the project of Applications that name none.
const defaultProject = "default"

// noPolicy says whether a policy says nothing. Automation without any option is
// one.
func noPolicy(policy map[string]any) bool {
	for _, v := range policy {
		if list, ok := v.([]any); v != nil && (!ok || len(list) > 0) {
			return false
		}
	}
	return true
}

// noOptions says whether the options of a source are all empty, or only say how
// others are meant.
func noOptions(options map[string]any) bool {
	for name, v := range options {
		switch name {
		case "labelWithoutSelector", "labelIncludeTemplates", "forceCommonLabels", "forceCommonAnnotations", "commonAnnotationsEnvsubst":
		default:
			if withoutEmpty(v) != nil {
				return false
			}
		}
	}
	return true
}
