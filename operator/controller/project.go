package controller

import (
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/sdk"
)

func projects() kind {
	return kind{
		name: "Project", protection: "project", object: &v1alpha1.Project{}, list: &v1alpha1.ProjectList{}, hub: described("Project", nil),
	}
}

// ignoreNotFound returns nil for an error that says that an object does not exist.
func ignoreNotFound(err error) error {
	if sdk.IsNotFound(err) {
		return nil
	}
	return err
}
