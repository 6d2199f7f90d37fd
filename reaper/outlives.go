package reaper

import "github.com/pharos-dev/pharos/internal/keys"

// Outlives says why an object is meant to be there when its namespace has ended, so
// that the namespace must not be deleted, or nothing: it is retained or marked to be
// kept, or its intent cannot be read; something declares it that would bring it back;
// or it is a Durable artefact. What says that it is transient does not outlive its
// namespace, and everything else is the namespace's: volumes, and what was installed
// into it by hand.
func Outlives(o Object) string {
	intent, err := ReadIntent(o.Labels, o.Annotations)
	switch {
	case err != nil:
		return err.Error()
	case intent.Kind == Retained:
		return keys.Intent + " says that it is retained"
	}
	if mark := keptBy(o); mark != "" {
		return mark + " says that it stays"
	}
	if by := declaredBy(o); by != nil && by.reconciles {
		return by.mark + " says that " + by.tool + " declares it"
	}
	if intent.Kind != Transient && Durable(o.Group, o.Kind) {
		return "it is a durable artefact and does not say that it is transient"
	}
	return ""
}

// durable are the kinds of artefacts that are made to be there after what they are of.
var durable = map[[2]string]bool{
	{"snapshot.storage.k8s.io", "VolumeSnapshot"}:           true,
	{"groupsnapshot.storage.k8s.io", "VolumeGroupSnapshot"}: true,
	{"velero.io", "Backup"}:                                 true,
	{"postgresql.cnpg.io", "Backup"}:                        true,
	{"k8s.mariadb.com", "Backup"}:                           true,
	{"psmdb.percona.com", "PerconaServerMongoDBBackup"}:     true,
	{"pxc.percona.com", "PerconaXtraDBClusterBackup"}:       true,
	{"ps.percona.com", "PerconaServerMySQLBackup"}:          true,
	{"pgv2.percona.com", "PerconaPGBackup"}:                 true,
	{"stash.appscode.com", "Repository"}:                    true,
	{"volsync.backube", "ReplicationDestination"}:           true,
}

// Durable says whether objects of the group and kind are artefacts that are made to be
// there after what they are of: snapshots and backups. Volumes are none.
func Durable(group, kind string) bool { return durable[[2]string{group, kind}] }
