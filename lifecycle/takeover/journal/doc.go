// Package journal writes down what a takeover does, before it does it: in a file of the
// checkout, for who goes on with it, and in an object on the target, by which anybody
// can undo it from anywhere.
//
//	f, err := journal.OpenFile(filepath.Join(gitFolder, "pharos", "takeover"))
//	version, err := f.Save(doc, "")
//	s, err := journal.NewStore(journal.StoreConfig{REST: config, Namespace: "pharos", Target: "devbox", Guard: held.Check})
//	session, err := s.Create(ctx, doc)
//	session, err = s.Beat(ctx, session) // about once a minute
//
// # The order
//
// A [Step] and a workload's [State] are written down before what they name is begun:
//
//	planned           the plan is made
//	image-published   the agent's image is pushed
//	leased            the lease is acquired, its gate closed
//	session-recorded  the session object is created
//	diverted          the workloads are diverted, one after the other
//	serving           the processes run, and get the cluster's traffic
//	handing-back      the workloads are put back
//	restored          the session object is deleted
//	released          the lease is released; then the journal is removed
//
// Who finds a journal or a session object so knows what may have been done, and each of
// these can be done again.
//
// # The format
//
// A JSON object, the same in both places but for the key:
//
//	version    1
//	session    the session's random ID
//	target, namespace, cluster    the target's name, where its lease is, the UID of the cluster
//	holder, token    of the lease: see package lease
//	user, began      for people
//	step       as above
//	silence    seconds without a sign of life after which the workloads are put back
//	workloads  for each its state (untouched, diverting, handed-back) and its diversion: see
//	           lifecycle/takeover/divert. That has the whole object as it was before.
//	ending     who puts them back in the holder's stead, why and since when, and whether it is done
//	key        the private key of the session, in PEM: in the file alone
//
// It is read strictly. What cannot be read, and what a later version has written, is
// left as it is ([ErrDamaged], [ErrLater]).
//
// # The session object
//
// A Secret "pharos-TARGET.takeover" of type pharos.dev/takeover, since the template of a
// workload may hold values that are secret, with the keys session.json and heartbeat.
// Each write has the resourceVersion and the UID that were read as its precondition; a
// writer recognises its own write, whose answer was lost, by an ID in an annotation.
//
// heartbeat is when the holder gave its last sign of life. It is a Date of the API
// server's answers, and so is the time that it is compared with: no clock of any machine
// counts.
//
// Who ends a session that is somebody else's writes an Ending first. From then on the
// holder's signs of life are refused ([ErrEnding]): it must not go on with what is being
// put back, and has to divert anew if it still has the lease.
//
// # Rights
//
//	rules:
//	- {apiGroups: [""], resources: [secrets], verbs: [create]}
//	- {apiGroups: [""], resources: [secrets], verbs: [get, patch, delete], resourceNames: [pharos-TARGET.takeover]}
//
// Who may write this Secret can have a Deployment of the target changed by whoever
// restores from it, the controller for example: to another image, while it runs the one
// that the Secret calls the agent's. Who may create Secrets in the namespace is to be
// trusted with the target.
package journal
