package environment_test

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/takeover/environment"
)

// fixed is a Reader of one Secret. NewReader returns that of an API server.
type fixed struct{ environment.Reader }

func (fixed) Secret(context.Context, string, string) (*corev1.Secret, error) {
	return &corev1.Secret{Data: map[string][]byte{"url": []byte("postgres://ann:hunter2-hunter2@postgres.shop.svc/orders")}}, nil
}

// A process gets the variables that it may have, with the address of a Service that
// is forwarded, and what it prints does not show a secret.
func Example() {
	var pod corev1.PodTemplateSpec
	pod.Spec.Containers = []corev1.Container{{
		Name: "main",
		Env: []corev1.EnvVar{
			{Name: "DATABASE_URL", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "db"}, Key: "url"}}},
			{Name: "LOG_LEVEL", Value: "info"},
			{Name: "PAYMENT_KEY", Value: "is of no concern to the process"},
		},
	}}
	request := environment.Request{
		Namespace: "shop", Pod: pod, Container: "main",
		Run: catalogue.Run{
			Env:      []string{"DATABASE_URL", "LOG_*"},
			Set:      map[string]string{"LOG_LEVEL": "debug"},
			Forwards: []catalogue.RunForward{{Service: "postgres", Port: 5432, Env: []string{"DATABASE_URL"}}},
		},
		Addresses: map[string]string{"postgres:5432": "127.0.0.1:15432"},
	}
	e, err := environment.Resolve(context.Background(), fixed{}, request)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range e.Vars {
		fmt.Println(v)
	}
	output := environment.NewScrubber(os.Stdout, e.Secrets()...)
	for _, line := range e.Environ() { // as if the process printed it
		fmt.Fprintln(output, line)
	}
	fmt.Fprintln(output, "connected to 127.0.0.1:15432 with hunter2-hunter2")
	if err := output.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// DATABASE_URL (Secret shop/db, key url)
	// LOG_LEVEL (pharos.yaml, run.set)
	// DATABASE_URL=***
	// LOG_LEVEL=debug
	// connected to 127.0.0.1:15432 with ***
}

func ExampleNames() {
	var pod corev1.PodTemplateSpec
	pod.Spec.Containers = []corev1.Container{{
		Name:    "main",
		EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "mail"}}}},
		Env:     []corev1.EnvVar{{Name: "MODE", Value: "cluster"}, {Name: "OTHER", Value: "x"}},
	}}
	names, err := environment.Names(environment.Request{Namespace: "shop", Pod: pod, Container: "main", Run: catalogue.Run{Env: []string{"MAIL_*", "MODE"}}})
	if err != nil {
		fmt.Println(err)
	}
	for _, n := range names {
		fmt.Println(n.Name, "from", n.From)
	}
	// Output:
	// MAIL_* from Secret shop/mail
	// MODE from the manifest
}

func ExampleFolder() {
	folder, err := environment.NewFolder(os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm", os.TempDir())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Millisecond)
	defer stop()
	// A request that lists files names the folder: Request{Folder: folder.Path(), …}.
	var e environment.Environment
	if err := folder.Write(ctx, fixed{}, e, nil); err != nil {
		fmt.Println(err)
	}
	_ = folder.Renew(ctx, fixed{}, e, nil, nil) // until the process ends
	if err := folder.Wipe(); err != nil {
		fmt.Println(err)
	}
	_, err = os.Stat(folder.Path())
	fmt.Println("gone:", os.IsNotExist(err))
	// Output: gone: true
}
