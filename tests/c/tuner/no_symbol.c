/* A shared object that is no plugin. */
int hccl_tuner_plugin_of_another_version = 2;
