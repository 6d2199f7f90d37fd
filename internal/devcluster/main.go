package main

import (
	"fmt"

	"go.etcd.io/etcd/server/v3/embed"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
)

func main() {
	fmt.Println(embed.StartEtcd, apiserver.NewAPIServerCommand, controllermanager.NewControllerManagerCommand, scheduler.NewSchedulerCommand, kwok.NewCommand)
}
