# Installation, `find_package(retrygate)`, and the Debian packages that ci/make-package builds: `retrygate` is
# the component tool, `retrygate-dev` is everything else.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Installs the libraries retrygate::policies, ::sim and ::stats and the command, as far as they exist.
# The properties come as the component gtest; who does not ask for it needs neither RapidCheck nor GoogleTest.
function(retrygate_package)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME devel)
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
  retrygate_install_tool()

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
    add_test(NAME package.tool COMMAND bash "${PROJECT_SOURCE_DIR}/ci/cmake/tool_test.sh" "${PROJECT_BINARY_DIR}")
    set_tests_properties(package.tool PROPERTIES TIMEOUT 300)
  endif()
  retrygate_debian()
endfunction()

# The command, and what it prints of itself: the man page and the completion for bash.
function(retrygate_install_tool)
  set(page "${PROJECT_BINARY_DIR}/retrygate.1")
  set(completion "${PROJECT_BINARY_DIR}/retrygate.bash")
  add_custom_command(OUTPUT "${page}" "${completion}"
    COMMAND retrygate_cli man > "${page}"
    COMMAND retrygate_cli completion bash > "${completion}"
    DEPENDS retrygate_cli VERBATIM)
  add_custom_target(retrygate_pages ALL DEPENDS "${page}" "${completion}")
  install(TARGETS retrygate_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tool)
  install(FILES "${page}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tool)
  install(FILES "${completion}" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
    RENAME retrygate COMPONENT tool)
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME copyright COMPONENT tool)
  install(FILES "${PROJECT_SOURCE_DIR}/CHANGELOG.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT tool)
  # The plots of report.html, which are inside of the program, are others' work.
  install(FILES "${PROJECT_SOURCE_DIR}/ci/web/LICENCES.txt" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT tool)
  install(FILES "${PROJECT_SOURCE_DIR}/ci/schema/report.schema.json"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/retrygate" COMPONENT tool)
endfunction()

# A macro: CPack reads these variables at the top.
macro(retrygate_debian)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_CONTACT "the retrygate authors <authors@retrygate.invalid>")
  set(CPACK_PACKAGE_VENDOR "the retrygate authors")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_ALL tool devel)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_TOOL_PACKAGE_NAME retrygate)
  set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION devel)
  set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
  set(CPACK_COMPONENT_TOOL_DESCRIPTION
    "The command retrygate: holds a retry policy against what it promises, simulates what it does to a fleet of clients, and says in CI whether a change of it may be merged.")
  set(CPACK_DEBIAN_DEVEL_PACKAGE_NAME retrygate-dev)
  set(CPACK_DEBIAN_DEVEL_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_DEVEL_PACKAGE_DEPENDS "libfmt-dev, libexpected-dev, libtomlplusplus-dev, libyaml-cpp-dev")
  set(CPACK_DEBIAN_DEVEL_PACKAGE_RECOMMENDS "librapidcheck-dev, libgtest-dev")
  set(CPACK_COMPONENT_DEVEL_DESCRIPTION
    "Libraries and headers for C++20: policies of your own, held against their promises in your own tests.")
  include(CPack)
endmacro()
