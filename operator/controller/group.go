package controller

import (
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/sdk/declare"
)

func groups() kind {
	return kind{
		name: "Group", protection: "group", object: &v1alpha1.Group{}, list: &v1alpha1.GroupList{}, hub: declared{Kind: declare.Groups},
	}
}
