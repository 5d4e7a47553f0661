package kinds

// All kinds, by topic; those of which the description says all come last.
var All = append([]Kind{
	{Group: Deployments, Name: "GitRepository", Level: Full, Says: "A Git repository of the hub."},
	{Group: Deployments, Name: "HelmRepository", Level: Full, Says: "A chart repository of the hub, over https or oci.", NotActing: []string{
		"spec.auth.azure.subscriptionId", "spec.auth.proxy.noproxy",
	}},
	{Group: Deployments, Name: "ServiceDeployment", Level: Full, Says: "A service of the hub.", NotActing: []string{
		"spec.agentId", "spec.docsPath", "spec.flowRef", "spec.paused", "spec.pinnedRevision",
	}},
	{Group: Deployments, Name: "GlobalService", Level: Full, Says: "One service on every selected cluster.", NotActing: []string{
		"spec.interval", "spec.providerRef",
	}},
	{Group: Deployments, Name: "ManagedNamespace", Level: Full, Says: "A namespace on every selected cluster."},
	{Group: Deployments, Name: "ServiceContext", Level: Full, Says: "Values of the hub that services share."},
	{Group: Deployments, Name: "GeneratedSecret", Level: Full, Says: "Secrets with rendered values, in the management cluster."},
	{Group: Deployments, Name: "Pipeline", Level: Stored, SchemaOnly: true, Says: "Nothing is promoted: the hub has no pipelines yet."},
	{Group: Deployments, Name: "PipelineContext", Level: Stored, SchemaOnly: true, Says: "No pipeline is started: the hub has no pipelines yet."},
	{Group: Deployments, Name: "Observer", Level: Stored, SchemaOnly: true, Says: "Nothing is watched: the hub has no observers yet."},
	{Group: Deployments, Name: "Flow", Level: Stored, SchemaOnly: true, Says: "Nothing is grouped: the hub has no flows yet."},
	{Group: Deployments, Name: "PreviewEnvironmentTemplate", Level: Stored, SchemaOnly: true, Says: "No service is copied: the hub has no previews of pull requests yet."},

	{Group: Deployments, Name: "Cluster", Level: Full, Says: "Handle, tags and metadata of a registered cluster, or a cluster made from a template.", NotActing: []string{
		"spec.disableAI", "spec.protect",
	}},
	{Group: Deployments, Name: "ClusterSync", Level: Full, Says: "A Cluster object for each selected cluster of the hub.", NotActing: []string{
		"spec.clusterSpec.spec.cloud", "spec.clusterSpec.spec.nodePools", "spec.clusterSpec.spec.providerRef", "spec.clusterSpec.spec.version",
	}},
	{Group: Deployments, Name: "BootstrapToken", Level: Full, Says: "A token for one new cluster of a project, in a Secret.", NotActing: []string{
		"spec.user",
	}},
	{Group: Deployments, Name: "Provider", Level: Full, Says: "The cluster template that Clusters are made from.", NotActing: []string{
		"spec.cloudSettings", "spec.namespace",
	}},
	{Group: Deployments, Name: "ClusterRestore", Level: Stored, SchemaOnly: true, Says: "Nothing is restored: the hub has no backups of clusters yet."},
	{Group: Deployments, Name: "ClusterRestoreTrigger", Level: Stored, SchemaOnly: true, Says: "Nothing is restored: the hub has no backups of clusters yet."},
	{Group: Deployments, Name: "UpgradePlanCallout", Level: Stored, SchemaOnly: true, Says: "No plan shows it: the hub has no upgrade plans yet."},

	{Group: Deployments, Name: "InfrastructureStack", Level: Stored, Says: "Nothing runs: the hub has no stacks yet."},
	{Group: Deployments, Name: "StackDefinition", Level: Stored, Says: "Nothing runs: the hub has no stacks yet."},
	{Group: Deployments, Name: "CustomStackRun", Level: Stored, Says: "Nothing runs: the hub has no stacks yet."},
	{Group: Deployments, Name: "ObservabilityProvider", Level: Stored, SchemaOnly: true, Says: "No monitor is queried: the hub has no stacks yet."},

	{Group: Deployments, Name: "ScmConnection", Level: Full, Says: "An account at a Git server, which GitRepositories log in with.", NotActing: []string{
		"spec.azure.organization", "spec.azure.project", "spec.bitbucketDatacenter", "spec.default", "spec.proxy.noproxy",
	}},
	{Group: Deployments, Name: "PrAutomation", Level: Stored, SchemaOnly: true, Says: "No pull request is created: the hub has no automations of pull requests yet."},
	{Group: Deployments, Name: "PrAutomationTrigger", Level: Stored, SchemaOnly: true, Says: "No pull request is created: the hub has no automations of pull requests yet."},
	{Group: Deployments, Name: "PrGovernance", Level: Stored, SchemaOnly: true, Says: "No pull request is held: the hub has no automations of pull requests yet."},
	{Group: Deployments, Name: "Catalog", Level: Stored, SchemaOnly: true, Says: "Nothing is shown: the hub has no automations of pull requests yet."},

	{Group: Deployments, Name: "Project", Level: Full, Says: "A project of the hub."},
	{Group: Deployments, Name: "Group", Level: Full, Says: "A group of users of the hub.", NotActing: []string{
		"spec.global",
	}},
	{Group: Deployments, Name: "Persona", Level: Stored, SchemaOnly: true, Says: "The console shows the same to all users: the hub has no personas yet."},
	{Group: Deployments, Name: "ServiceAccount", Level: Full, Says: "A service account of the hub, with its token in a Secret.", NotActing: []string{
		"spec.assumeBindings", "spec.scopes",
	}},
	{Group: Deployments, Name: "NamespaceCredentials", Level: Full, Says: "The token of the hub that the objects of some namespaces act with."},
	{Group: Deployments, Name: "FederatedCredential", Level: Full, Says: "An issuer whose tokens act as a service account of the hub."},
	{Group: Deployments, Name: "OIDCProvider", Level: Full, Says: "An application that the hub signs people in to, with the client's credentials in a Secret.", NotActing: []string{
		"spec.description",
	}},
	{Group: Deployments, Name: "DeploymentSettings", Level: Full, Says: "Bindings of the whole hub.", NotActing: []string{
		"spec.agentHelmValues", "spec.agentHelmValuesTemplateable", "spec.ai", "spec.cost", "spec.deploymentRepositoryRef", "spec.logging", "spec.lokiConnection",
		"spec.managementRepo", "spec.metrics", "spec.prometheusConnection", "spec.scaffoldsRepositoryRef", "spec.stacks",
	}},
	{Group: Deployments, Name: "ComplianceReportGenerator", Level: Stored, SchemaOnly: true, Says: "No report is produced: the hub has no reports yet."},
	{Group: Deployments, Name: "CloudConnection", Level: Stored, SchemaOnly: true, Says: "No cloud is queried: the hub has no connections to clouds yet."},
	{Group: Deployments, Name: "NamespacedCloudConnection", Level: Stored, SchemaOnly: true, Says: "No cloud is queried: the hub has no connections to clouds yet."},

	{Group: Deployments, Name: "Sentinel", Level: Stored, SchemaOnly: true, NotOurs: true, Says: "Nothing is checked: the hub has no sentinels yet."},
	{Group: Deployments, Name: "SentinelTrigger", Level: Stored, SchemaOnly: true, NotOurs: true, Says: "Nothing is checked: the hub has no sentinels yet."},
	{Group: Deployments, Name: "Monitor", Level: Stored, SchemaOnly: true, Says: "Nothing is queried and no alert is raised: the hub has no monitors yet."},
	{Group: Deployments, Name: "Dashboard", Level: Stored, SchemaOnly: true, NotOurs: true, Says: "Nothing is shown: the hub has no workbenches yet."},
	{Group: Deployments, Name: "MCPServer", Level: Stored, SchemaOnly: true, NotOurs: true, Says: "No tool is called: the hub has no workbenches yet."},
	{Group: Deployments, Name: "Workbench", Level: Stored, SchemaOnly: true, NotOurs: true, Says: "No model runs: the hub has no workbenches yet."},
	{Group: Deployments, Name: "WorkbenchCron", Level: Stored, SchemaOnly: true, NotOurs: true, Says: "No model runs: the hub has no workbenches yet."},
	{Group: Deployments, Name: "WorkbenchPrompt", Level: Stored, SchemaOnly: true, NotOurs: true, Says: "No model runs: the hub has no workbenches yet."},
	{Group: Deployments, Name: "WorkbenchTool", Level: Stored, SchemaOnly: true, NotOurs: true, Says: "No tool is called: the hub has no workbenches yet."},
	{Group: Deployments, Name: "WorkbenchWebhook", Level: Stored, SchemaOnly: true, NotOurs: true, Says: "No model runs: the hub has no workbenches yet."},
	{Group: Deployments, Name: "AgentRuntimePolicy", Level: Stored, SchemaOnly: true, NotOurs: true, Says: "No access changes: agents run no coding agents yet."},
	{Group: Deployments, Name: "Policy", Level: Stored, SchemaOnly: true, Says: "Nothing is evaluated: the hub has no policies yet."},
	{Group: Deployments, Name: "BindingPolicy", Level: Stored, SchemaOnly: true, Says: "Nothing is evaluated: the hub has no policies yet."},

	{Group: Deployments, Name: "AgentConfiguration", Level: Full, Cluster: true, Says: "Settings of the agent.", NotActing: []string{
		"spec.baseRegistryURL", "spec.compatibilityUploadInterval", "spec.componentShaCacheTTL", "spec.disableWebsocket",
		"spec.managedNamespacePollInterval", "spec.maxAgentRunPods", "spec.maxSentinelRunJobs", "spec.maxStackRunJobs",
		"spec.pipelineGateInterval", "spec.pollImmediately", "spec.sentinelPollInterval", "spec.stackPollInterval",
		"spec.vulnerabilityReportUploadInterval",
	}},
	{Group: Deployments, Name: "CustomHealth", Level: Full, Cluster: true, Says: "A health rule of the agent."},
	{Group: Deployments, Name: "PipelineGate", Level: Stored, SchemaOnly: true, Cluster: true, Says: "No gate opens: the hub has no pipelines yet."},
	{Group: Deployments, Name: "StackRunJob", Level: Stored, Cluster: true, Says: "Nothing runs: the hub has no stacks yet."},
	{Group: Deployments, Name: "SentinelRunJob", Level: Stored, SchemaOnly: true, NotOurs: true, Cluster: true, Says: "Nothing is checked: the hub has no sentinels yet."},
	{Group: Deployments, Name: "PluralCAPICluster", Level: Full, Cluster: true, Says: "A cluster of Cluster API that others made, connected to the hub.", NotActing: []string{
		"spec.agent", "spec.cluster.bindings", "spec.cluster.metadata",
	}},
	{Group: Deployments, Name: "PluralCrossplaneCluster", Level: Stored, SchemaOnly: true, Cluster: true, Says: "No cluster is registered: agents do not register clusters of Crossplane yet."},
	{Group: Deployments, Name: "VirtualCluster", Level: Stored, SchemaOnly: true, Cluster: true, Says: "No cluster is created: agents do not create virtual clusters yet."},
	{Group: Deployments, Name: "UpgradeInsights", Level: Stored, SchemaOnly: true, Cluster: true, Says: "No cloud is queried: the hub has no upgrade plans yet."},
	{Group: Deployments, Name: "KubecostExtractor", Level: Stored, SchemaOnly: true, Cluster: true, Says: "No cost is read: the hub has no cost recommendations yet."},
	{Group: Deployments, Name: "ClusterDrain", Level: Stored, SchemaOnly: true, Cluster: true, Says: "No workload is restarted: agents do not drain clusters yet."},
	{Group: Deployments, Name: "IngressReplica", Level: Stored, SchemaOnly: true, Cluster: true, Says: "No Ingress is copied: agents do not copy Ingresses yet."},
	{Group: Deployments, Name: "MetricsAggregate", Level: Stored, SchemaOnly: true, Cluster: true, Says: "No total is computed: agents do not read metrics of nodes yet."},
	{Group: Deployments, Name: "ImageWarmer", Level: Stored, SchemaOnly: true, Cluster: true, Says: "No image is pulled: agents do not warm images yet."},
	{Group: Deployments, Name: "TunnelController", Level: Stored, SchemaOnly: true, NotOurs: true, Cluster: true, Says: "No client runs: the tunnel is part of the agent and needs no object."},
	{Group: Deployments, Name: "AgentRuntime", Level: Stored, SchemaOnly: true, NotOurs: true, Cluster: true, Says: "No coding agent runs: agents do not run coding agents yet."},
	{Group: Deployments, Name: "AgentRun", Level: Stored, SchemaOnly: true, NotOurs: true, Cluster: true, Says: "No coding agent runs: agents do not run coding agents yet."},

	{Group: Platform, Name: "Dashboard", Level: Full, Cluster: true, Says: "Graphs of an application, from the metrics of its cluster."},
	{Group: Platform, Name: "LogFilter", Level: Full, Cluster: true, Says: "A query for the store of logs of its cluster."},
	{Group: Platform, Name: "LogTail", Level: Full, Cluster: true, Says: "The end of the logs of a workload in its namespace."},

	{Group: Axle, Name: "Repository", Level: Full, Says: "A repository of the hub of any type, with all options."},
	{Group: Axle, Name: "Webhook", Level: Full, Says: "A webhook of the hub, with its secret in a Secret."},
	{Group: Axle, Name: "ClusterRegistration", Level: Full, Says: "A cluster of the hub before its agent exists, made from a template or by somebody else."},
	{Group: Axle, Name: "RegistrationToken", Level: Full, Says: "A token for new clusters, in a Secret."},
	{Group: Axle, Name: "ProjectLimits", Level: Full, Says: "The limits of a project of the hub."},
	{Group: Axle, Name: "RolloutPolicy", Level: Stored, SchemaOnly: true, Says: "No plan changes: the operator does not read this kind yet. Use spec.rollout of a GlobalService."},
	{Group: Axle, Name: "AgentUpgrade", Level: Full, Says: "The version of the agents, and the waves in which they get it."},
	{Group: Axle, Name: "HubSettings", Level: Full, Says: "The sync windows of the hub."},
	{Group: Axle, Name: "Outputs", Level: Full, Says: "Values of the hub that services import."},
	{Group: Axle, Name: "BackendMigration", Level: Stored, SchemaOnly: true, Says: "Nothing is migrated: the operator does not read this kind yet. Use axle backends migrate."},
	{Group: Axle, Name: "User", Level: Full, Says: "A user of the hub before their first login."},
	{Group: Axle, Name: "AdminGrant", Level: Full, Says: "The administrator rights of a user or a service account."},
	{Group: Axle, Name: "GroupMembership", Level: Full, Says: "Members of a group of the hub."},
	{Group: Axle, Name: "AccessBinding", Level: Full, Says: "Rights of users, service accounts and groups at a place of the hub."},
	{Group: Axle, Name: "LoginProvider", Level: Full, Says: "An issuer that people log in with."},
	{Group: Axle, Name: "FederationTrust", Level: Full, Says: "An issuer whose tokens act as a service account of the hub, with all terms."},
	{Group: Axle, Name: "ReferenceGrant", Level: Full, Says: "A grant to name objects of its namespace from another one."},
}, described()...)
