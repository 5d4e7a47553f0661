package controller

import (
	"context"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/sdk/declare"
	"github.com/axle-cd/axle/sdk/manifest"
)

// boundAnnotation keeps the place where the object has bindings. It is stored before the
// first one is made, so that they go when the object no longer declares any.
const boundAnnotation = kinds.Axle + "/bindings-at"

// deploymentSettings are the bindings of the whole hub, with the calls of AccessBinding.
func deploymentSettings() kind {
	calls, _ := declare.Of("AccessBinding")
	return kind{
		name: "DeploymentSettings", protection: "deploymentsettings", object: &v1alpha1.DeploymentSettings{}, list: &v1alpha1.DeploymentSettingsList{}, hub: declared{Kind: calls},
	}
}

// bind writes the bindings that the object declares at its own place, as an AccessBinding
// does: rows of others stay. The hub decides whether the object's account may bind there.
func bind(ctx context.Context, p *pass) (err error) {
	defer func() { p.unbound = err != nil }()
	at := p.object.GetAnnotations()[boundAnnotation]
	access := p.item.Access
	calls, _ := declare.Of("AccessBinding")
	if access == nil {
		if at == "" {
			return nil
		}
		if err := calls.Remove(ctx, p.hub, at, p.manager()); err != nil {
			return err
		}
		return p.patch(ctx, func() { note(p.object, boundAnnotation, "") })
	}
	access.Management = &hubv1.Management{By: p.manager()}
	have, err := calls.Read(ctx, p.hub, access)
	if err != nil || have != nil && calls.Same(p.hub, access, have) {
		return absent(err)
	}
	if at == "" {
		if err := p.patch(ctx, func() { note(p.object, boundAnnotation, access.Name) }); err != nil {
			return err
		}
	}
	_, err = calls.Write(ctx, p.hub, access, have)
	return absent(err)
}

// accessOf is the part of an item that bind writes.
func accessOf(item *manifest.Item) *manifest.Item {
	if item.Access == nil {
		return &manifest.Item{}
	}
	return item.Access
}
