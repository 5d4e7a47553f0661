package controller

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/sdk/declare"
)

func groups() kind {
	return kind{
		name: "Group", protection: "group", object: &v1alpha1.Group{}, list: &v1alpha1.GroupList{}, hub: declared{Kind: declare.Groups},
		common: func(o client.Object) common {
			g := o.(*v1alpha1.Group)
			return common{&g.Status, g.Spec.Reconciliation}
		},
	}
}
