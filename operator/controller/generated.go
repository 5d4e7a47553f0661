package controller

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/operator/generated"
	"github.com/axle-cd/axle/operator/schedule"
	"github.com/axle-cd/axle/operator/tenancy"
)

// addGenerated adds the controllers of the kinds that make objects of this cluster.
func addGenerated(ctx context.Context, m manager.Manager, who *tenancy.Tenancy, uid string, timing Timing) error {
	for _, k := range []kind{{name: "GeneratedSecret", list: &v1alpha1.GeneratedSecretList{}}, {name: "ClusterSync", list: &v1alpha1.ClusterSyncList{}}} {
		_, err := served(m, v1alpha1.GroupVersion.WithKind(k.name))
		if err == nil {
			err = readable(ctx, m, k)
		}
		if err != nil {
			return err
		}
	}
	c := generated.Config{
		Cluster: m.GetClient(), Direct: m.GetAPIReader(), Tenancy: who, ClusterUID: uid, Interval: timing.Interval, Missing: timing.Missing, Limit: timing.Limit, Quiet: timing.Quiet,
		Options: schedule.Options(defaultWorkers, timing), Events: m.GetEventRecorder("axle-operator"),
	}
	return errors.Join(generated.AddSecrets(ctx, m, c), generated.AddSyncs(m, c))
}
