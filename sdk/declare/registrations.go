package declare

import (
	"context"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// registrations are clusters that are created by what declares them: rows that wait for an
// agent, and clusters that the hub makes from a template. Nothing here removes machines.
type registrations struct{ clusters }

// Same implements Kind.
func (registrations) Same(_ *sdk.Client, item *manifest.Item, f *Found) bool {
	have, want := f.Message.(*hubv1.Cluster), item.Request.(*hubv1.CreateClusterRequest)
	from := want.GetFromTemplate()
	return madeFrom(want, have) == nil && same(want.ProtoReflect(), have.ProtoReflect(), item.Name) && (from == nil || manifest.SameJSON(have.GetOrigin().GetGiven(), from.GetVariables()))
}

// Write implements Kind. A change declares all that can change.
func (r registrations) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error) {
	declared := *item
	declared.Cluster = sdk.Changing(item.Request, declared.Cluster.ProtoReflect().Descriptor()).(*hubv1.UpdateClusterRequest)
	declared.Cluster.Management = item.Management
	return r.clusters.Write(ctx, c, &declared, have)
}

// madeFrom returns Conflict for a cluster of the hub that came to be otherwise than declared:
// that cannot change.
func madeFrom(want *hubv1.CreateClusterRequest, have *hubv1.Cluster) error {
	from, o := want.GetFromTemplate(), have.GetOrigin()
	switch {
	case want.GetProject() != "" && want.GetProject() != have.GetProject():
		return errcode.New(errcode.Conflict, "cluster %s of the hub is in project %s; change the declaration, or move the cluster with axle clusters move", have.GetName(), have.GetProject())
	case from == nil:
		return nil
	case o == nil:
		return errcode.New(errcode.Conflict, "cluster %s of the hub was not made from a template; choose another name", have.GetName())
	case o.GetTemplate() != from.GetTemplate():
		return errcode.New(errcode.Conflict, "cluster %s of the hub was made from template %s; choose another name", have.GetName(), o.GetTemplate())
	case from.GetManagementCluster() != "" && o.GetManagementCluster() != from.GetManagementCluster():
		return errcode.New(errcode.Conflict, "cluster %s of the hub was made on %s; choose another name", have.GetName(), o.GetManagementCluster())
	}
	return nil
}
