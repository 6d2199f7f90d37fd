package controlplane

import (
	_ "embed"
	"fmt"
	"os"
	"strings"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// AuditLogName is the name of the audit log in the state folder: one audit.k8s.io/v1 Event as JSON on each line.
const AuditLogName = "audit.log"

//go:embed audit-policy.yaml
var auditPolicy string

// writeAuditPolicy writes the API server's audit policy and returns its path.
func writeAuditPolicy(folder *state.Folder) (string, error) {
	var own []string
	for _, u := range state.Users {
		if u != state.Admin {
			own = append(own, fmt.Sprintf("%q", u.Name))
		}
	}
	policy := strings.ReplaceAll(auditPolicy, "OWN_PARTS", strings.Join(own, ", "))
	path := folder.Path("audit-policy.yaml")
	if err := os.WriteFile(path, []byte(policy), 0o600); err != nil {
		return "", fmt.Errorf("write the audit policy: %w", err)
	}
	return path, nil
}
