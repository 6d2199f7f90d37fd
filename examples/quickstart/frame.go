package main

// opening prints what the story is about.
func (n *narrator) opening(o options) {
	n.line("Pharos quickstart: commits go to a Kubernetes cluster, and prove that they are there.")
	if o.context != "" {
		n.line("The cluster is the one of context %q. The shop gets namespaces of its own there.", o.context)
		return
	}
	if o.takeover {
		n.line("The cluster is started for this story, with a real node: pods run.")
		n.blank()
		return
	}
	n.line("The cluster is started for this story. Its API server, controllers and scheduler are the")
	n.line("real ones; its only node is hollow, so pods are placed and become ready, but do not really run.")
	if o.argocd {
		n.line("An Argo CD, a real one, delivers what Pharos points it at.")
	}
	n.blank()
}

// missing says what of the story cannot be told here.
func (n *narrator) missing(p *place) {
	if p.noBuildKit == nil {
		return
	}
	n.line("%v.", p.noBuildKit)
	n.line("So the shop goes without its website, which is built from a Dockerfile.")
}

// closing says where to go next.
func (n *narrator) closing(p *place, repo string, o options) {
	n.blank()
	n.line("That was the story. Where to go next:")
	n.blank()
	switch {
	case o.takeover && !o.stay:
		n.detail("go run ./examples/quickstart --takeover --stay    the same, and then look around in what it leaves up")
		n.detail("docs/takeover.md                                  take workloads of yours over")
		n.detail("make install, kubectl pharos takeover --help      the kubectl plugin")
		n.detail("examples/quickstart/takeover.go                   embed it in a Go program")
		return
	case !o.stay:
		n.detail("go run ./examples/quickstart --stay    the same, and then look around in what it leaves up")
		n.detail("make install, kubectl pharos --help    the kubectl plugin")
		n.detail("docs/pharos-yaml.md                    bring a repository of yours under Pharos")
		n.detail("examples/quickstart/deliver.go         embed Pharos in a Go program")
		return
	}
	n.detail("export KUBECONFIG=%s", p.cluster.Kubeconfig())
	n.detail("go build -o %s/kubectl-pharos ./kubectl-pharos    the plugin; or for longer: make install", p.dir)
	n.detail("export PATH=%s:$PATH", p.dir)
	n.detail("kubectl pharos --repo %s status", repo)
	n.detail("kubectl pharos --repo %s receipts list", repo)
	n.detail("kubectl --namespace %s get deployments", p.shop.Namespace)
	n.blank()
	n.line("The registry is %s, for targets of yours too.", p.shop.Push)
	if p.shop.Git != "" {
		n.line("The Git server has this one repository: %s", p.shop.Git)
	}
	if o.takeover {
		n.toTakeOver(p, repo)
	}
	n.blank()
	n.line("Change something in %s, commit it, and deliver it:", repo)
	n.blank()
	n.detail("kubectl pharos --repo %s reconcile", repo)
	n.blank()
	n.line("All of it is up until Ctrl-C, which removes it, with what you commit there.")
}

// toTakeOver says what can be taken over, and how to see that it is.
func (n *narrator) toTakeOver(p *place, repo string) {
	n.blank()
	n.line("What can be taken over has run in the shop's pharos.yaml: the image stock, by an edit of")
	n.line("services/stock/main.go. The story's own edit is still there, and is not committed. So take it over,")
	n.line("ask the Service, edit it once more, ask again, and hand it back:")
	n.blank()
	n.detail("kubectl pharos --repo %s takeover --detach", repo)
	n.detail("kubectl get --raw /api/v1/namespaces/%s/services/http:stock:80/proxy/stock", p.shop.Namespace)
	n.detail("kubectl pharos --repo %s handback", repo)
}
