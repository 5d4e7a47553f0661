package operator

import (
	"context"
	"time"

	"github.com/axle-cd/axle/deploy"
	"github.com/axle-cd/axle/internal/kubeapply"
)

// definitionsLimit bounds ApplyDefinitions.
const definitionsLimit = 4 * time.Minute

// ApplyDefinitions applies the custom resource definitions of this version to the
// cluster of a kubeconfig, or of the pod, and returns how many there are. The chart
// runs it before each install and upgrade.
func ApplyDefinitions(ctx context.Context, kubeconfig string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, definitionsLimit)
	defer cancel()
	config, err := Config{Kubeconfig: kubeconfig}.cluster()
	if err != nil {
		return 0, err
	}
	applier, err := kubeapply.New(config)
	if err != nil {
		return 0, err
	}
	return applier.Definitions(ctx, deploy.CRDs)
}
