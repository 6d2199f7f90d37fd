// Package faultproxy stands in front of a real API server or registry and makes it fail where a test wants it: answers
// with an error status, silence, or a connection that breaks, each before or after the real server did what it
// was asked. Everything else, watches and upgraded connections too, passes through.
//
//	proxy, err := faultproxy.ForCluster(cluster.Config())
//	if err != nil {
//		t.Fatal(err)
//	}
//	t.Cleanup(proxy.Close)
//	// The first patch of a Deployment is done, but the client never hears of it.
//	proxy.Add(faultproxy.Rule{
//		Method: http.MethodPatch, Path: regexp.MustCompile(`/deployments/`), Times: 1,
//		AfterUpstream: true, Do: faultproxy.Cut(),
//	})
//	client, err := kubernetes.NewForConfig(proxy.Config(cluster.Config()))
//
// The proxy speaks HTTP/1.1 on both sides, so that a broken connection is that of one request. Go's client sends a
// GET again by itself when a connection that it has used before breaks: a rule that is to be seen needs no limit of Times
// then, or one that is higher.
package faultproxy
