package agentmem

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// size is the mean of the first service's objects, as the API server writes
// them to whoever reads one.
func (m *measurement) size(ctx context.Context) (float64, error) {
	bytes, n := 0, 0
	for _, in := range []string{"api/v1 configmaps", "api/v1 secrets", "api/v1 services", "apis/apps/v1 deployments", "apis/rbac.authorization.k8s.io/v1 roles"} {
		group, kind, _ := strings.Cut(in, " ")
		got, err := m.world.Kubectl(ctx, cluster, "get", "--raw", "/"+group+"/namespaces/"+serviceName(0)+"/"+kind+"?labelSelector=axle-cd.github.io/managed")
		if err != nil {
			return 0, err
		}
		var list struct{ Items []json.RawMessage }
		if err := json.Unmarshal([]byte(got.Out), &list); err != nil {
			return 0, err
		}
		for _, item := range list.Items {
			bytes, n = bytes+len(item), n+1
		}
	}
	if n == 0 {
		return 0, errors.New("the first service has no objects")
	}
	return float64(bytes) / float64(n), nil
}
