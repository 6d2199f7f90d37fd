// Package policy has an API server hold people to intents, and to the limits of a tier,
// without any webhook: [Objects] makes a ValidatingAdmissionPolicy with its binding, and
// a ResourceQuota for each namespace. [Check] tells which existing objects the policy
// would have refused.
//
// # What the policy holds
//
// What is created of its resources, in the namespaces that it is bound to, says that it
// is transient, whose it is, and until when, by durations and times in the grammar of
// package reaper. TTL and grace together are within the tier's MaxTTL, and so are expiry
// and grace from the creation on. Who updates an intent is held to its grammar and to
// the TTL as well, may make an object retained, and may not take the intent away;
// updates of anything else pass, so that no object is stuck that was there before.
//
// What has an owner is left alone: it ends with that. So are the objects that a
// namespace has of its own accord.
//
// # What it cannot hold
//
// A policy knows no time and cannot count. That an expiry is moved ahead again and again
// by updates is not seen, and neither are creates per hour, which only [reaper.Client]'s
// Create holds. A ResourceQuota is of one namespace: a tier with several has its limits
// in each of them. It counts owned objects too, and where it limits CPU or memory the
// API server refuses pods that do not say what they request.
//
// Who gives an object an owner evades the policy. It ends with that owner then, unless
// the reference is taken away later, which the policy cannot refuse: workloads let go
// of their pods so. It stays then, without an intent, and the inventory counts it. If
// the owner is not there, Kubernetes' garbage collector deletes it at once.
package policy
