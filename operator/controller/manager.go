package controller

import (
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/operator/ownership"
	"github.com/axle-cd/axle/sdk/declare"
)

// ofOthers is the reason why the deletion of a custom resource leaves the object of
// the hub: another manager has it.
type ofOthers struct{ by *hubv1.Manager }

// Error says who has it.
func (o *ofOthers) Error() string { return "the object is managed by " + ownership.Words(o.by) }

// others returns *ofOthers when the hub's answer names another manager than by, and
// otherwise the error of the call.
func others[T any, M interface {
	*T
	GetManagedBy() *hubv1.Manager
}](have *connect.Response[T], err error, by *hubv1.Manager) error {
	if err != nil {
		return err
	}
	if now := M(have.Msg).GetManagedBy(); !proto.Equal(now, by) {
		return &ofOthers{now}
	}
	return nil
}

// manager is what the hub records about objects of this custom resource. It has no
// uid: a resource that is deleted and created again under its name is the same one.
func (p *pass) manager() *hubv1.Manager {
	id := fmt.Sprintf("%s/%s.%s/%s/%s", p.clusterUID, p.name, p.gvk().Group, p.key.Namespace, p.key.Name)
	return &hubv1.Manager{Tool: "operator", Id: id}
}

// owned reports whether the object of the hub is this custom resource's: the hub says
// so, or it names nobody who declares objects and the resource wrote it before. The
// latter is a kind without managers, or a hub that was restored from an older backup.
func (p *pass) owned() bool {
	status := p.common(p.object).status
	wrote := p.protected() || value(status.ID) != "" && !status.Readonly
	switch {
	case p.have == nil || !p.have.managed:
		return wrote
	case proto.Equal(p.have.by, p.manager()):
		return true
	}
	return wrote && !declare.Declares(p.have.by)
}

// foreign reports whether another declarative manager has the object.
func (p *pass) foreign() bool {
	return p.have != nil && p.have.managed && declare.Declares(p.have.by) && !proto.Equal(p.have.by, p.manager())
}

// lost reports whether the hub has to record this manager again.
func (p *pass) lost() bool {
	return p.have != nil && p.have.managed && !proto.Equal(p.have.by, p.manager())
}
