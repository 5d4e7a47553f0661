package capi

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/deploy"
)

// Template returns the files of the template of the test bed, for a folder of a repository,
// and the kinds that may come out of it.
func Template(folder string) (files map[string]string, kinds []string, err error) {
	const root = "bed"
	files = map[string]string{}
	err = fs.WalkDir(deploy.Clusters, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := deploy.Clusters.ReadFile(name)
		files[path.Join(folder, strings.TrimPrefix(name, root))] = string(text)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	var about struct {
		Kinds []string `json:"kinds"`
	}
	const file = "template.yaml"
	if err := yaml.Unmarshal([]byte(files[path.Join(folder, file)]), &about); err != nil {
		return nil, nil, fmt.Errorf("read %s of the template of the test bed: %w", file, err)
	}
	return files, about.Kinds, nil
}
