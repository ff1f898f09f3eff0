package kubeapi

import (
	"runtime"
	"strings"
)

// version is what a server of these objects says that it is.
func (s *Server) versionInfo() map[string]any {
	major, minor, _ := strings.Cut(strings.TrimPrefix(s.version, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	return map[string]any{"major": major, "minor": minor, "gitVersion": s.version + "+netlab", "gitCommit": "", "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z",
		"goVersion": runtime.Version(), "compiler": runtime.Compiler, "platform": runtime.GOOS + "/" + runtime.GOARCH}
}

func coreVersions() map[string]any {
	return map[string]any{"kind": "APIVersions", "versions": []any{"v1"}, "serverAddressByClientCIDRs": []any{}}
}

func groups() map[string]any {
	var list []any
	for i, r := range resources {
		if r.group != "" && resources[i-1].group != r.group {
			list = append(list, groupOf(r, false))
		}
	}
	return map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": list}
}

// groupOf describes the group of a resource; each has one version.
func groupOf(r *resource, alone bool) map[string]any {
	version := map[string]any{"groupVersion": r.groupVersion(), "version": r.version}
	g := map[string]any{"name": r.group, "versions": []any{version}, "preferredVersion": version}
	if alone {
		g["kind"], g["apiVersion"] = "APIGroup", "v1"
	}
	return g
}

// resourcesOf lists what a group and version has, or nil.
func resourcesOf(groupVersion string) map[string]any {
	var list []any
	for _, r := range resources {
		if r.groupVersion() != groupVersion {
			continue
		}
		verbs := []string{"get", "list", "watch"}
		if r.discardsNew {
			verbs = append(verbs, "create", "patch")
		}
		one := map[string]any{"name": r.name, "singularName": r.singular, "namespaced": r.namespaced, "kind": r.kind, "verbs": verbs}
		if r.short != nil {
			one["shortNames"] = r.short
		}
		if r.category != "" {
			one["categories"] = []string{r.category}
		}
		list = append(list, one)
	}
	if list == nil {
		return nil
	}
	return map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": groupVersion, "resources": list}
}
