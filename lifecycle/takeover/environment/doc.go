// Package environment makes the environment of a process on a workstation that
// stands in for a container: its variables, its mounted files and the addresses of
// what it talks to; and nothing of these that was not asked for by name.
//
// # What reaches the process
//
// Variables come from three places; of a name that several have, the first one counts:
//
//  1. run.set of pharos.yaml
//  2. the .env file that run.envFile names
//  3. the container, for names that run.env lets through
//
// That is the order of Docker Compose, where environment comes before env_file. The
// process inherits nothing else from here: what of the machine's own environment it
// gets, such as PATH, is for its caller to say.
//
// The container's variables are resolved as the kubelet resolves them (since 1.32;
// earlier ones leave out names that a shell could not set): envFrom in its order, the
// last source that has a name counting; then env in its order, which replaces what
// envFrom has; $(NAME) in a value stands for what the name has at that place, $$ for
// $; an optional reference to what does not exist leaves the name as it was. Links to
// Services, such as REDIS_SERVICE_HOST, are among them only where run.env lists their
// full name. References are to the container's own values, also of names that
// run.set or the .env file have another value for.
//
// A name that nothing lets through is not read: neither is a Secret that no such name
// can come from, nor what only replaced values come from. As the API server hands out
// whole objects, a Secret of which one key is wanted arrives with all its keys; the
// others are dropped.
//
// # Addresses
//
// Where run.forwards names a variable, the Service's address in it is replaced by the
// local one: service:port, alone, in a list, in a URL with userinfo, path or query, or
// in a keyword of its own; with the Service's name alone, or followed by its
// namespace, .svc, and the cluster's domain; a URL without a port, if its scheme's is
// the Service's; and a host alone whose port another variable of the forward has. A
// variable of the workload that does not have the address is an error.
//
// # Secrets
//
// Values are in memory only. No String, Format, MarshalJSON or LogValue of this package
// shows one, and no error holds one; they are kept in closures, where reflection does
// not find them. Environment.Environ and Var.Value alone return them, for os/exec.
// A Scrubber masks them in what the process prints. Those that are secret are: what
// comes from a Secret, and what is made of it; a variable whose name is a secret's
// (see catalogue.SecretName); and a URL with a password, wherever it is from. Parts of
// these count by themselves where they are known: such a password, a line of a key, and
// what JSON or lines of "name=value" have under the name of a secret.
//
// Mounted files are written to a Folder, which no other user can read, in memory
// where the system has such a place. It is wiped by its process, and by Recover after
// that was killed. Tokens of service accounts live for ten minutes and are renewed;
// they are not bound to a pod.
//
// # Rights
//
// get on the named ConfigMaps, Secrets and Services, create on serviceaccounts/token
// of the workload's service account if a token is asked for, and get on the pod's
// node if a variable has its size. Nothing is listed or watched.
package environment
