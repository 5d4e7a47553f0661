package packed

import (
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/ownertree"
)

// Roots returns a service's objects as its agent reported them, and whether some were
// left out.
func Roots(components []byte) (roots []ownertree.Object, cut bool, err error) {
	var list hubv1.ComponentList
	if err := Open(components, &list); err != nil {
		return nil, false, err
	}
	for _, c := range list.GetComponents() {
		roots = append(roots, ownertree.Object{
			Group: c.GetGroup(), Version: c.GetVersion(), Kind: c.GetKind(), Namespace: c.GetNamespace(), Name: c.GetName(), UID: c.GetUid(),
			Health: c.GetHealth(), Message: c.GetMessage(), Synced: c.GetSynced(),
		})
	}
	return roots, list.GetTruncated(), nil
}

// Nodes returns trees of objects as messages.
func Nodes(nodes []*ownertree.Node) []*hubv1.TreeNode {
	var out []*hubv1.TreeNode
	for _, n := range nodes {
		out = append(out, &hubv1.TreeNode{
			Object: &hubv1.Component{
				Group: n.Group, Version: n.Version, Kind: n.Kind, Namespace: n.Namespace, Name: n.Name, Uid: n.UID,
				Health: n.Health, Message: n.Message, Synced: n.Synced,
			},
			CreatedAt: n.Created, Failing: n.Failing, Children: Nodes(n.Children),
		})
	}
	return out
}
