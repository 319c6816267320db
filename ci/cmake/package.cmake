# Installation and `find_package(retrygate)`.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Installs the libraries retrygate::policies, ::sim and ::stats and the command, as far as they exist.
# The properties come as the component gtest; who does not ask for it needs neither RapidCheck nor GoogleTest.
function(retrygate_package)
  set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/retrygate")
  set(libraries "")
  foreach(name IN ITEMS policies sim stats)
    if(TARGET retrygate_${name})
      list(APPEND libraries retrygate_${name})
    endif()
  endforeach()
  install(TARGETS ${libraries} EXPORT retrygate
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/retrygate")
  install(EXPORT retrygate NAMESPACE retrygate:: FILE retrygate-targets.cmake DESTINATION "${config_dir}")
  install(TARGETS retrygate_properties retrygate_gtest EXPORT retrygate-gtest
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/retrygate")
  install(EXPORT retrygate-gtest NAMESPACE retrygate:: FILE retrygate-gtest-targets.cmake
    DESTINATION "${config_dir}")
  if(TARGET retrygate_cli)
    install(TARGETS retrygate_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()

  set(dependencies fmt tl-expected tomlplusplus yaml-cpp Threads)
  # Only a module whose own headers show these types links them publicly.
  foreach(pair IN ITEMS Boost::headers=Boost Boost::boost=Boost Eigen3::Eigen=Eigen3
          nlohmann_json::nlohmann_json=nlohmann_json)
    string(REPLACE "=" ";" pair "${pair}")
    list(GET pair 0 target)
    list(GET pair 1 package)
    foreach(library IN LISTS libraries)
      get_target_property(links ${library} INTERFACE_LINK_LIBRARIES)
      if("${target}" IN_LIST links)
        list(APPEND dependencies ${package})
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES dependencies)
  list(TRANSFORM dependencies REPLACE "(.+)" "find_dependency(\\1)")
  list(JOIN dependencies "\n" find_dependencies)
  configure_package_config_file("${PROJECT_SOURCE_DIR}/ci/cmake/retrygate-config.cmake.in"
    "${PROJECT_BINARY_DIR}/retrygate-config.cmake" INSTALL_DESTINATION "${config_dir}")
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/retrygate-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/retrygate-config.cmake"
    "${PROJECT_BINARY_DIR}/retrygate-config-version.cmake" DESTINATION "${config_dir}")

  if(RETRYGATE_TESTS)
    # A library built with sanitizers links only with them.
    list(JOIN RETRYGATE_SANITIZERS " " flags)
    add_test(NAME package.consumer COMMAND "${CMAKE_COMMAND}"
      "-DBUILD=${PROJECT_BINARY_DIR}" "-DSOURCE=${PROJECT_SOURCE_DIR}/ci/consumer"
      "-DGENERATOR=${CMAKE_GENERATOR}" "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DFLAGS=${flags}"
      -P "${PROJECT_SOURCE_DIR}/ci/cmake/consumer_test.cmake")
    set_tests_properties(package.consumer PROPERTIES TIMEOUT 300)
    add_test(NAME package.consumer-gtest COMMAND "${CMAKE_COMMAND}"
      "-DBUILD=${PROJECT_BINARY_DIR}" "-DSOURCE=${PROJECT_SOURCE_DIR}/ci/consumer-gtest"
      "-DGENERATOR=${CMAKE_GENERATOR}" "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DFLAGS=${flags}"
      -P "${PROJECT_SOURCE_DIR}/ci/cmake/consumer_gtest_test.cmake")
    set_tests_properties(package.consumer-gtest PROPERTIES TIMEOUT 300)
  endif()
endfunction()
